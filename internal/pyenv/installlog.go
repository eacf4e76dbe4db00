package pyenv

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/trainyard/trainyard/internal/fault"
)

// installLog is what uv or pip says on stderr, kept from its first error on.
type installLog struct{ lines []string }

// logLimit bounds the kept lines: an error of uv's is one cause a line.
const logLimit = 100

func (l *installLog) add(line string) {
	begins := errorPrefix.MatchString(line) || strings.HasPrefix(line, "WARNING: Retrying")
	if (begins || len(l.lines) > 0) && len(l.lines) < logLimit {
		l.lines = append(l.lines, line)
	}
}

// failure is one kind of failed installation.
type failure struct {
	signs *regexp.Regexp
	err   func(l *installLog, cause string) error
}

// failures are tried in order: a full disk shows as many other errors too.
var failures = []failure{
	{
		regexp.MustCompile(`No space left on device|Disk quota exceeded|\bos error (28|122)\b|Errno (28|122)\b`),
		func(_ *installLog, cause string) error { return fmt.Errorf("%w: %s", errDiskFull, cause) },
	},
	{
		regexp.MustCompile(`(?i)hash mismatch|do not match the hashes`),
		func(l *installLog, _ string) error {
			return fault.WithHint("the index served another file than the lock file names: check the index or mirror that is set (UV_DEFAULT_INDEX, PIP_INDEX_URL, uv.toml), and do not install it by other means",
				errors.New(l.mismatch()))
		},
	},
	{
		regexp.MustCompile(`(?i)network (?:was|is|connectivity is) disabled`),
		func(*installLog, string) error {
			return fault.WithHint("what is not there yet comes over the network: unset UV_OFFLINE (or offline in uv.toml), or give an interpreter that has all packages with --python PATH",
				errors.New("uv is told to stay offline, and its cache has not all packages"))
		},
	},
	{
		regexp.MustCompile(`(?i)invalid peer certificate|UnknownIssuer|CERTIFICATE_VERIFY_FAILED`),
		func(l *installLog, cause string) error {
			return fault.WithHint("set SSL_CERT_FILE to the certificates that this network needs",
				fmt.Errorf("reaching %s: %s", l.host(), cause))
		},
	},
	{
		regexp.MustCompile(`(?i)client error \(connect\)|error sending request|dns error|timed? ?out|connection (refused|reset|broken)|NewConnectionError|ConnectionError|ProxyError|error decoding response body`),
		func(l *installLog, cause string) error {
			return fault.WithHint("what is not there yet comes over the network: check it, set HTTPS_PROXY or an index that can be reached (UV_DEFAULT_INDEX or PIP_INDEX_URL), or give an interpreter that has all packages with --python PATH",
				fmt.Errorf("reaching %s: %s", l.host(), cause))
		},
	},
	{
		regexp.MustCompile(`(?i)permission denied|read-only file system`),
		func(_ *installLog, cause string) error { return notWritable(errors.New(cause)) },
	},
	{
		regexp.MustCompile("^error: Failed to parse: `"),
		func(l *installLog, cause string) error {
			return fault.WithCode(fault.Usage, fault.WithHint("write packages as pip takes them, such as 'datasets>=4,<5'",
				fmt.Errorf("%s: %s", errorPrefix.ReplaceAllString(l.lines[0], ""), cause)))
		},
	},
	{
		regexp.MustCompile(`Failed to build`),
		func(l *installLog, _ string) error {
			first := errorPrefix.ReplaceAllString(l.lines[0], "")
			return fault.WithHint("build the package by itself to see all of what its build says", fmt.Errorf("%s: %s", first, l.lastWords()))
		},
	},
	{
		regexp.MustCompile(`No solution found`),
		func(l *installLog, _ string) error {
			return fault.WithHint("check the names and versions, that they fit each other and this Python, and that the index that is set (UV_DEFAULT_INDEX, PIP_INDEX_URL, uv.toml) has them",
				errors.New(l.summary()))
		},
	},
}

// explain turns a failed run into one line that names the cause. Where no
// error was printed, the end of what was printed stays.
func (l *installLog) explain(err error) error {
	if _, ok := errors.AsType[*commandError](err); !ok || len(l.lines) == 0 {
		return err
	}
	text := strings.Join(l.lines, "\n")
	for _, f := range failures {
		if f.signs.MatchString(text) {
			return f.err(l, l.cause())
		}
	}
	return errors.New(l.summary())
}

// summary is the whole error in one line.
func (l *installLog) summary() string {
	var b strings.Builder
	for _, line := range l.lines {
		text := strings.Trim(causePrefix.ReplaceAllString(errorPrefix.ReplaceAllString(line, ""), ""), " │")
		if strings.HasPrefix(text, "hint:") {
			break
		}
		switch {
		case b.Len() == 0 || text == "":
		case causePrefix.MatchString(line) || errorPrefix.MatchString(line):
			b.WriteString(": ")
		default: // a cause that goes on
			b.WriteString(" ")
		}
		b.WriteString(text)
	}
	return b.String()
}

var (
	// "cause:" is uv's word since 0.13, the arrows that of versions before 0.7.
	causePrefix = regexp.MustCompile(`^\s*(?:(?:cause|Caused by):|[├╰]─▶)\s*`)
	errorPrefix = regexp.MustCompile(`^(?:(?:error|ERROR): (?:Could not install packages due to an )?|  × )`)
	pipCause    = regexp.MustCompile(`(?:: |')([^:']*(?:Errno|refused|timed out|Name or service)[^'"]*)`)
	urlHost     = regexp.MustCompile(`https?://(?:[^@/\s` + "`" + `]*@)?([^/\s` + "`" + `)]+)`)
	pipHost     = regexp.MustCompile(`host='([^']+)'`)
	wheel       = regexp.MustCompile("(?:Failed to download|Hash mismatch for|Failed to read) `([^`]+)`")
)

// cause is the innermost cause that was named.
func (l *installLog) cause() string {
	last := ""
	for _, line := range l.lines {
		switch {
		case causePrefix.MatchString(line):
			last = causePrefix.ReplaceAllString(line, "")
		case strings.HasPrefix(line, "WARNING: Retrying"):
			if m := pipCause.FindStringSubmatch(line); m != nil && last == "" {
				last = m[1]
			}
		case errorPrefix.MatchString(line) && last == "":
			last = errorPrefix.ReplaceAllString(line, "")
		}
	}
	return strings.TrimSpace(last)
}

// lastWords are the last line before uv's advice: of a build that failed, its
// exception.
func (l *installLog) lastWords() string {
	last := ""
	for _, line := range l.lines {
		text := strings.Trim(line, " │")
		if strings.HasPrefix(text, "hint:") {
			break
		}
		if text != "" {
			last = text
		}
	}
	return causePrefix.ReplaceAllString(last, "")
}

// host is the server that could not be reached.
func (l *installLog) host() string {
	text := strings.Join(l.lines, "\n")
	for _, re := range []*regexp.Regexp{urlHost, pipHost} {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return "the package index"
}

// mismatch says which package has another hash.
func (l *installLog) mismatch() string {
	if m := wheel.FindStringSubmatch(strings.Join(l.lines, "\n")); m != nil {
		return fmt.Sprintf("hash of %s is not the one in the lock file", m[1])
	}
	return "hash of a package is not the one in the lock file"
}
