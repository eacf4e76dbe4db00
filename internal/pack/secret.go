package pack

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// headBytes is how much of a file is looked at for a secret.
const headBytes = 64 << 10

// secretNames are files that hold secrets whatever is in them. Patterns with a
// slash are matched against the end of the path.
var secretNames = []struct{ pattern, why string }{
	{"id_rsa", "SSH key"},
	{"id_dsa", "SSH key"},
	{"id_ecdsa", "SSH key"},
	{"id_ed25519", "SSH key"},
	{"id_ecdsa_sk", "SSH key"},
	{"id_ed25519_sk", "SSH key"},
	{".aws/credentials", "AWS credentials"},
	{".netrc", "passwords"},
	{"_netrc", "passwords"},
	{".pypirc", "package index password"},
	{".git-credentials", "git password"},
	{".kube/config", "Kubernetes credentials"},
	{"kubeconfig", "Kubernetes credentials"},
	{"*.kubeconfig", "Kubernetes credentials"},
	{"kaggle.json", "Kaggle token"},
	{".huggingface/token", "Hugging Face token"},
	{"huggingface/token", "Hugging Face token"},
	{"*.p12", "key store"},
	{"*.pfx", "key store"},
}

// harmlessEnv are the endings of .env files that are meant to be shared.
var harmlessEnv = map[string]bool{"example": true, "sample": true, "template": true, "dist": true, "defaults": true}

var (
	privateKey     = regexp.MustCompile(`(?m)^-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----`)
	publicKey      = regexp.MustCompile(`(?m)^-----BEGIN ([A-Z0-9]+ )*PUBLIC KEY`)
	serviceAccount = regexp.MustCompile(`"type"\s*:\s*"service_account"`)
	authorizedUser = regexp.MustCompile(`"type"\s*:\s*"authorized_user"`)
	kubeConfig     = regexp.MustCompile(`(?m)^kind:\s*["']?Config["']?\s*$`)
	kubeUsers      = regexp.MustCompile(`(?m)^users:`)
	registryLogin  = regexp.MustCompile(`(?m)(^|:)_(authToken|auth|password)\s*=\s*[^\s$]`)
)

// looksSecret says why the file e looks like a secret; an empty string says
// that it does not. It goes by names first, then by the head of those files
// that could hold one.
func looksSecret(fsys fs.FS, e entry) (string, error) {
	if why := secretByName(e.name); why != "" {
		return why, nil
	}
	if !couldHoldKey(e) {
		return "", nil
	}
	head, err := readHead(fsys, e.name)
	if err != nil {
		return "", err
	}
	return secretByHead(path.Base(e.name), head), nil
}

func secretByName(name string) string {
	base := path.Base(name)
	if rest, ok := strings.CutPrefix(base, ".env"); ok && (rest == "" || rest == "rc" || strings.HasPrefix(rest, ".")) {
		if harmlessEnv[strings.TrimPrefix(path.Ext(rest), ".")] {
			return ""
		}
		return "environment file"
	}
	for _, s := range secretNames {
		if strings.Contains(s.pattern, "/") {
			if name == s.pattern || strings.HasSuffix(name, "/"+s.pattern) {
				return s.why
			}
		} else if ok, _ := path.Match(s.pattern, base); ok {
			return s.why
		}
	}
	return ""
}

// couldHoldKey keeps the look at contents to the kinds of files that hold
// keys, so that data and source are neither read nor taken for one.
func couldHoldKey(e entry) bool {
	if e.size == 0 || e.size > 1<<20 {
		return false
	}
	switch strings.ToLower(path.Ext(e.name)) {
	case ".pem", ".key", ".crt", ".cer", ".ppk", ".asc", ".gpg", ".json", ".yaml", ".yml", ".conf", ".config", ".txt", "", ".npmrc":
		return true
	}
	return strings.HasPrefix(path.Base(e.name), ".")
}

func secretByHead(base string, head []byte) string {
	ext := strings.ToLower(path.Ext(base))
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("PuTTY-User-Key-File-")):
		return "SSH key"
	case ext == ".json":
		if serviceAccount.Match(head) && bytes.Contains(head, []byte(`"private_key"`)) {
			return "service account key"
		}
		if authorizedUser.Match(head) && bytes.Contains(head, []byte(`"refresh_token"`)) {
			return "cloud login"
		}
		return ""
	case ext == ".pem" || ext == ".crt" || ext == ".cer":
		if privateKey.Match(head) {
			return "private key"
		}
		return ""
	case ext == ".key":
		// Apple's Keynote uses the same ending for zip files.
		if bytes.HasPrefix(head, []byte("PK\x03\x04")) || publicKey.Match(head) {
			return ""
		}
		return "key"
	case base == ".npmrc" && registryLogin.Match(head):
		return "package registry login"
	case kubeConfig.Match(head) && kubeUsers.Match(head):
		return "Kubernetes credentials"
	}
	// In other files a key must come first: a text may well quote one.
	if loc := privateKey.FindIndex(bytes.TrimSpace(head)); loc != nil && loc[0] == 0 {
		return "private key"
	}
	return ""
}

func readHead(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, headBytes))
}
