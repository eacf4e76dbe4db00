package pyenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

// The transcripts are what uv 0.13, uv 0.6 and pip 23 wrote, shortened.
func TestExplain(t *testing.T) {
	tests := []struct{ name, transcript, want, hint string }{
		{
			"no name server", `Using Python 3.11.2 environment at: e3
error: Request failed after 3 retries in 12.5s
  cause: Failed to fetch: ` + "`https://user:secret@packages.example/simple/six/`" + `
  cause: error sending request for url (https://packages.example/simple/six/)
  cause: client error (Connect)
  cause: dns error
  cause: failed to lookup address information: Name or service not known`,
			"reaching packages.example: failed to lookup address information: Name or service not known", "HTTPS_PROXY",
		},
		{
			"old words", `error: Failed to fetch: ` + "`https://packages.example/simple/six/`" + `
  Caused by: Could not connect, are you offline?
  Caused by: client error (Connect)
  Caused by: operation timed out`,
			"reaching packages.example: operation timed out", "HTTPS_PROXY",
		},
		{
			"certificate", `error: Failed to fetch: ` + "`https://packages.example/simple/six/`" + `
  Caused by: client error (Connect)
  Caused by: invalid peer certificate: UnknownIssuer`,
			"reaching packages.example: invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE",
		},
		{
			"hash", "Resolved 1 package in 548ms\nerror: Failed to download `six==1.17.0`\n  cause: Hash mismatch for `six==1.17.0`\n\n         Expected:\n           sha256:00\n",
			"hash of six==1.17.0 is not the one in the lock file", "mirror",
		},
		{
			"disk full", "warning: Failed to hardlink files\nerror: Failed to install: x.whl (x==1)\n  cause: Failed to copy to `/c/x.py`\n  cause: failed to copy file: No space left on device (os error 28)",
			"disk is full: failed to copy file: No space left on device (os error 28)", "",
		},
		{
			"permission", "error: failed to create directory `/home/ada/.cache/uv`: Permission denied (os error 13)",
			"failed to create directory `/home/ada/.cache/uv`: Permission denied (os error 13)", "cache folder",
		},
		{
			"refused", "error: Failed to fetch: `https://packages.example/simple/six/`\n  cause: HTTP status client error (403 Forbidden) for url (https://packages.example/simple/six/)",
			"Failed to fetch: `https://packages.example/simple/six/`: HTTP status client error (403 Forbidden) for url (https://packages.example/simple/six/)", "",
		},
		{
			"pip without network", `WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f>: Failed to establish a new connection: [Errno 111] Connection refused')': /simple/uv/
ERROR: Could not find a version that satisfies the requirement uv==0.13.9 (from versions: none)
ERROR: No matching distribution found for uv==0.13.9`,
			"reaching the package index: [Errno 111] Connection refused", "PIP_INDEX_URL",
		},
		{
			"pip with a full disk", "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
			"disk is full: OSError: [Errno 28] No space left on device", "",
		},
		{
			"pip and hashes", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated",
			"hash of a package is not the one in the lock file", "mirror",
		},
		{
			"arrows", "Resolved 1 package in 84ms\n  × Failed to download `six==1.17.0`\n  ├─▶ Failed to fetch: `https://packages.example/six.whl`\n  ╰─▶ HTTP status client error (404 Not\n      Found)",
			"Failed to download `six==1.17.0`: Failed to fetch: `https://packages.example/six.whl`: HTTP status client error (404 Not Found)", "",
		},
		{"hash with arrows", "  × Failed to download `six==1.17.0`\n  ╰─▶ Hash mismatch for `six==1.17.0`\n", "hash of six==1.17.0 is not the one in the lock file", "mirror"},
		{"no error was printed", "Resolved 1 package", "running uv: exit status 9: the end", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log installLog
			for line := range strings.Lines(test.transcript) {
				log.add(strings.TrimRight(line, "\n"))
			}
			err := log.explain(&commandError{argv: []string{"uv"}, tail: []string{"the end"}, err: errors.New("exit status 9")})
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, test.hint) {
				t.Errorf("hint does not say %q: %q", test.hint, hints)
			}
		})
	}
	var log installLog
	if err := log.explain(nil); err != nil {
		t.Errorf("success is explained as %v", err)
	}
}

func TestMeter(t *testing.T) {
	site, cache := t.TempDir(), t.TempDir()
	write := func(path string, size int) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, size), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(cache, ".tmpOld", "stale"), 10<<20)
	var got []string
	m := newMeter(func(p Progress) { got = append(got, fmt.Sprintf("%s %d/%d %s", p.Text, p.Done, p.Total, p.Unit)) }, site, cache)
	lines := func(s string) {
		for line := range strings.Lines(s) {
			m.line(strings.TrimRight(line, "\n"))
		}
	}
	lines("Using Python 3.13.0 environment at: e2\nResolved 109 packages in 1.81s\nDownloading torch (4.0MiB)\nDownloading pygments (512.0KiB)\n")
	write(filepath.Join(cache, ".tmpNew", "torch", "lib"), 2<<20)
	m.tellBytes()
	lines(" Downloaded pygments\n")
	write(filepath.Join(cache, ".tmpNew", "torch", "lib"), 1) // estimates never go back
	m.tellBytes()
	write(filepath.Join(cache, ".tmpNew", "torch", "lib"), 100<<20) // nor past what is announced
	m.tellBytes()
	lines(" Downloaded torch\nPrepared 109 packages in 30s\n")
	write(filepath.Join(site, "a.py"), 1)
	write(filepath.Join(site, "b.py"), 1)
	write(filepath.Join(site, "__pycache__", "a.pyc"), 1)
	lines("Installed 109 packages in 743ms\n")
	m.tick()
	lines("Bytecode compiled 2 files in 1m 15s\n + torch==2.13.0\n")
	want := []string{
		"resolving packages 0/0 ",
		"fetching packages 0/109 packages",
		"downloading packages 1153433/4718592 B",
		"downloading packages 1677721/4718592 B",
		"downloading packages 1677721/4718592 B",
		"downloading packages 4508876/4718592 B",
		"downloading packages 4718592/4718592 B",
		"installing packages 0/109 packages",
		"installing packages 109/109 packages",
		"compiling bytecode 1/2 files",
		"compiling bytecode 1/2 files",
		"compiling bytecode 2/2 files",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseLock(t *testing.T) {
	const lock = `# made by a tool
--index-url https://packages.example
Ray[default,train]==2.58.0 \
    --hash=sha256:aa \
    --hash=sha256:bb
    # via -r requirements.in
torch==2.13.0 ; sys_platform == 'linux' \
    --hash=sha256:cc
nvidia_cublas==13.1 --hash=sha256:dd
cuda-toolkit[cublas]==13.0 --hash=sha256:ee
triton==3.7.1 --hash=sha256:ff
tritonclient==2.0 --hash=sha256:11
torchvision==0.28.0 --hash=sha256:22`
	reqs := parseLock([]byte(lock))
	var names []string
	for _, r := range reqs {
		names = append(names, r.name+" "+r.version)
	}
	want := []string{"ray 2.58.0", "torch 2.13.0", "nvidia-cublas 13.1", "cuda-toolkit 13.0", "triton 3.7.1", "tritonclient 2.0", "torchvision 0.28.0"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const kept = "Ray[default,train]==2.58.0 \\\n--hash=sha256:aa \\\n--hash=sha256:bb\ntritonclient==2.0 --hash=sha256:11\ntorchvision==0.28.0 --hash=sha256:22\n"
	if diff := cmp.Diff(kept, string(withoutTorch(reqs))); diff != "" {
		t.Errorf("without PyTorch (-want +got):\n%s", diff)
	}
	if v := lockedVersion(reqs, "numpy"); v != "" {
		t.Errorf("numpy is locked to %q", v)
	}
	if v := lockedVersion(parseLock([]byte(bootstrapLock)), "uv"); !uvVersion.MatchString("uv " + v + " (x)") {
		t.Errorf("bootstrap.lock pins uv %q", v)
	}
}

func TestEnvirons(t *testing.T) {
	user := []string{
		"PATH=/bin", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHOME=/x", "PYTHONPATH=/y", "VIRTUAL_ENV=/v", "CONDA_PREFIX=/c",
		"UV_PYTHON=3.8", "UV_TORCH_BACKEND=cpu", "UV_INDEX=https://extra.example", "UV_HTTP_TIMEOUT=9", "SSL_CERT_FILE=/pem",
		"PIP_INDEX_URL=https://mirror.example", "PIP_EXTRA_INDEX_URL=https://other.example", "PIP_PROXY=proxy:1", "PIP_CERT=/other", "FORCE_COLOR=1",
	}
	kept := []string{
		"PATH=/bin", "UV_INDEX=https://extra.example", "UV_HTTP_TIMEOUT=9", "SSL_CERT_FILE=/pem",
		"PIP_INDEX_URL=https://mirror.example", "PIP_EXTRA_INDEX_URL=https://other.example", "PIP_PROXY=proxy:1", "PIP_CERT=/other",
		"NO_COLOR=1", "UV_PYTHON_DOWNLOADS=never",
	}
	if diff := cmp.Diff(kept, toolEnviron(user)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	translated := append(kept[:len(kept):len(kept)], "UV_DEFAULT_INDEX=https://mirror.example", "ALL_PROXY=proxy:1")
	if diff := cmp.Diff(translated, uvEnviron(user)); diff != "" {
		t.Errorf("uv (-want +got):\n%s", diff)
	}
	only := onlyIndex(user, "https://torch.example")
	if lookupEnv(only, "UV_DEFAULT_INDEX") != "https://torch.example" || lookupEnv(only, "UV_INDEX") != "" || lookupEnv(only, "ALL_PROXY") != "proxy:1" {
		t.Errorf("one index: %q", only)
	}
}

func TestAskUV(t *testing.T) {
	for said, want := range map[string]string{
		"uv 0.13.9 (x86_64-unknown-linux-gnu)": "0.13.9",
		"uv 0.6.0":                             "0.6.0",
		"uv 1.0.0 (abc 2027-01-01)":            "1.0.0",
		"uv 0.5.31 (e38ac490f 2025-02-12)":     "",
		"another program":                      "",
	} {
		path := filepath.Join(t.TempDir(), "uv")
		script(t, path, "echo '"+said+"'")
		found, ok := askUV(t.Context(), path, nil)
		if ok != (want != "") || ok && found.version != want {
			t.Errorf("%q: %+v, %v", said, found, ok)
		}
	}
}

func TestRedactURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://user:canary@host/whl/cpu": "https://host/whl/cpu",
		"https://host/whl?token=canary":    "https://host/whl",
		"https://us%er:canary@host":        "(not a URL)",
		"":                                 "",
	} {
		if got := redactURL(raw); got != want {
			t.Errorf("redactURL(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 6 << 30: "6.4 GB", 2_500_000: "2.5 MB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("formatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
