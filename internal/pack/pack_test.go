package pack

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

// newTree writes files (slash-separated name to content) below a new folder. A
// name that ends in a slash is a folder; a content that starts with "-> " is a
// link.
func newTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "-> "); {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(file, 0o755)
		case link:
			err = os.Symlink(target, file)
		default:
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mustPack(t *testing.T, root string, opts Options) Package {
	t.Helper()
	opts.TempDir = t.TempDir()
	p, err := Dir(t.Context(), root, opts)
	if err != nil {
		t.Fatalf("Dir: %v", err)
	}
	return p
}

// contents reads a package back: name to content.
func contents(t *testing.T, p Package) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name] = string(data)
	}
	return got
}

func TestDirContents(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{
			"plain files and an empty folder",
			map[string]string{"train.py": "print()", "lib/a.py": "a", "out/": ""},
			map[string]string{"train.py": "print()", "lib/a.py": "a", "out/": ""},
		},
		{
			"always left out",
			map[string]string{
				"a.py": "a", ".git/config": "x", ".trainyard/runs/1/run.json": "x", "__pycache__/a.pyc": "x", "b.pyc": "x",
				".venv/bin/python": "x", "venv/x": "x", "env-of-mine/pyvenv.cfg": "x", "env-of-mine/lib/y.py": "x",
				".mypy_cache/x": "x", ".ruff_cache/x": "x", ".pytest_cache/x": "x", "web/node_modules/x/y.js": "x", ".ipynb_checkpoints/x": "x",
			},
			map[string]string{"a.py": "a"},
		},
		{
			"nested ignore files with negation and anchors",
			map[string]string{
				".gitignore": "# a comment\n*.log\n/build\r\ndata/\n!keep.log\n", "a.log": "x", "keep.log": "k", "build/x": "x",
				"src/build/y": "y", "src/data/z": "x", "src/.gitignore": "!b.log\n*.tmp\n", "src/b.log": "b", "src/c.tmp": "x", "d.tmp": "d",
			},
			map[string]string{
				".gitignore": "# a comment\n*.log\n/build\r\ndata/\n!keep.log\n", "keep.log": "k", "src/build/y": "y",
				"src/.gitignore": "!b.log\n*.tmp\n", "src/b.log": "b", "d.tmp": "d",
			},
		},
		{
			"rayignore beside gitignore, neither brings back what the other names",
			map[string]string{".gitignore": "a\n", ".rayignore": "!a\nb\n", "a": "x", "b": "x", "c": "c"},
			map[string]string{".gitignore": "a\n", ".rayignore": "!a\nb\n", "c": "c"},
		},
		{
			"links inside the tree are followed, dangling ones left out",
			map[string]string{"a.py": "a", "b.py": "-> a.py", "lib/c.py": "c", "same": "-> lib", ".#a.py": "-> nobody@host"},
			map[string]string{"a.py": "a", "b.py": "a", "lib/c.py": "c", "same/c.py": "c"},
		},
		{
			"ignored links may lead anywhere",
			map[string]string{".rayignore": "data\n", "a.py": "a", "data": "-> /usr"},
			map[string]string{".rayignore": "data\n", "a.py": "a"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := mustPack(t, newTree(t, test.files), Options{})
			if diff := cmp.Diff(test.want, contents(t, p)); diff != "" {
				t.Errorf("package (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPackageFigures(t *testing.T) {
	p := mustPack(t, newTree(t, map[string]string{"a": "12345", "b/c": "678", "d/": ""}), Options{})
	info, err := os.Stat(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if p.Files != 2 || p.Bytes != 8 || p.ZipBytes != info.Size() {
		t.Errorf("Files, Bytes, ZipBytes = %d, %d, %d, want 2, 8, %d", p.Files, p.Bytes, p.ZipBytes, info.Size())
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := os.Stat(p.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the zip is still there: %v", err)
	}
}

func TestName(t *testing.T) {
	base := func() map[string]string {
		return map[string]string{"a.py": "print(1)", "lib/b.py": "x", "run.sh": "echo"}
	}
	name := func(change func(root string)) string {
		root := newTree(t, base())
		change(root)
		p := mustPack(t, root, Options{})
		return p.Name
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := name(func(string) {})
	tests := []struct {
		name   string
		same   bool
		change func(root string)
	}{
		{"another folder", true, func(string) {}},
		{"touched", true, func(root string) { must(os.Chtimes(filepath.Join(root, "a.py"), time.Now(), time.Unix(1, 0))) }},
		{"cache added", true, func(root string) {
			must(os.MkdirAll(filepath.Join(root, "__pycache__"), 0o755))
			must(os.WriteFile(filepath.Join(root, "__pycache__", "a.pyc"), nil, 0o644))
		}},
		{"group may read", true, func(root string) { must(os.Chmod(filepath.Join(root, "a.py"), 0o640)) }},
		{"one byte", false, func(root string) { must(os.WriteFile(filepath.Join(root, "a.py"), []byte("print(2)"), 0o644)) }},
		{"executable", false, func(root string) { must(os.Chmod(filepath.Join(root, "run.sh"), 0o755)) }},
		{"renamed", false, func(root string) { must(os.Rename(filepath.Join(root, "a.py"), filepath.Join(root, "c.py"))) }},
		{"empty folder", false, func(root string) { must(os.Mkdir(filepath.Join(root, "out"), 0o755)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := name(test.change); (got == want) != test.same {
				t.Errorf("name %q against %q, want same: %v", got, want, test.same)
			}
		})
	}
}

func TestExecutableMode(t *testing.T) {
	root := newTree(t, map[string]string{"run.sh": "echo", "a.py": "x"})
	if err := os.Chmod(filepath.Join(root, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(mustPack(t, root, Options{}).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]fs.FileMode{}
	for _, f := range r.File {
		got[f.Name] = f.Mode()
	}
	if diff := cmp.Diff(map[string]fs.FileMode{"run.sh": 0o755, "a.py": 0o644}, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

func TestDirErrors(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		at    string // below the tree
		want  []string
		hint  string
	}{
		{"missing", nil, "nowhere", []string{"no such folder"}, ""},
		{"a file", map[string]string{"a.py": "x"}, "a.py", []string{"not a folder"}, "name the folder"},
		{"empty", nil, "", []string{"nothing to pack"}, "--working-dir"},
		{"all ignored", map[string]string{".gitignore": "*\n", "a.py": "x"}, "", []string{"nothing to pack"}, "ignore files"},
		{"only empty folders", map[string]string{"out/": ""}, "", []string{"nothing to pack"}, ""},
		{"links out", map[string]string{"a.py": "x", "up": "-> ..", "abs": "-> /etc/hostname"}, "", []string{"up -> ", "abs -> /etc/hostname"}, ".rayignore"},
		{"links in a circle", map[string]string{"a/b/c.py": "x", "a/b/again": "-> ../../a"}, "", []string{"a/b/again -> "}, ".rayignore"},
		{
			"secrets and links at once",
			map[string]string{"a.py": "x", ".env": "K=1", "conf/id_ed25519": "x", "up": "-> .."},
			"",
			[]string{".env (environment file)", "conf/id_ed25519 (SSH key)", "up -> "},
			"--include-secrets",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := filepath.Join(newTree(t, test.files), test.at)
			_, err := Dir(t.Context(), root, Options{TempDir: t.TempDir()})
			if err == nil {
				t.Fatal("Dir succeeded")
			}
			for _, want := range append(test.want, root) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not hold %q", err, want)
				}
			}
			if hints := strings.Join(fault.HintsOf(err), "\n"); !strings.Contains(hints, test.hint) {
				t.Errorf("hints %q do not hold %q", hints, test.hint)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every file")
	}
	root := newTree(t, map[string]string{"a.py": "x", "closed.py": "x"})
	if err := os.Chmod(filepath.Join(root, "closed.py"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(t.Context(), root, Options{TempDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), `"closed.py": permission denied`) {
		t.Errorf("error %v does not name the file", err)
	}
}

// failing is a file system in which one file cannot be opened.
type failing struct {
	fstest.MapFS
	name string
	err  error
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.MapFS.Open(name)
}

func TestOpenFails(t *testing.T) {
	files := fstest.MapFS{"a.py": {Data: []byte("x")}, "b.py": {Data: []byte("y")}}
	if _, err := FS(failing{files, "b.py", fs.ErrPermission}); err == nil || !strings.Contains(err.Error(), `reading "b.py": permission denied`) {
		t.Errorf("error %v does not name the file", err)
	}
	p, err := FS(failing{files, "b.py", fs.ErrNotExist})
	if err != nil {
		t.Fatalf("a file that vanished: %v", err)
	}
	defer p.Close()
	if diff := cmp.Diff(map[string]string{"a.py": "x"}, contents(t, p)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
}

func TestFS(t *testing.T) {
	files := fstest.MapFS{
		"train/main.py":              {Data: []byte("x"), Mode: 0o444},
		"train/__pycache__/main.pyc": {Data: []byte("x")},
		"train/.env":                 {Data: []byte("x")},
	}
	p, err := FS(files)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if diff := cmp.Diff(map[string]string{"train/main.py": "x", "train/.env": "x"}, contents(t, p)); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
}

func TestTooLarge(t *testing.T) {
	noise := make([]byte, 3<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	root := newTree(t, map[string]string{"weights.bin": string(noise), "data/tokens.bin": string(noise[:2<<10]), "train.py": "x"})
	temp := t.TempDir()
	_, err := Dir(t.Context(), root, Options{MaxZipBytes: 4 << 10, TempDir: temp})
	if err == nil {
		t.Fatal("Dir succeeded")
	}
	want := "larger than the 4.0 KiB that Ray takes (3 files and folders, 5.0 KiB unpacked); the largest are:\n" +
		"    3.0 KiB  weights.bin\n    2.0 KiB  data/tokens.bin\n        1 B  train.py"
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not hold %q", err, want)
	}
	if hints := fault.HintsOf(err); len(hints) != 1 || !strings.Contains(hints[0], ".rayignore") {
		t.Errorf("hints %q do not name .rayignore", hints)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("%d files left behind", len(left))
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dir(ctx, newTree(t, map[string]string{"a": "x"}), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestSecrets(t *testing.T) {
	const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"
	tests := []struct {
		name, content string
		secret        bool
	}{
		{".env", "A=1", true},
		{".env.local", "A=1", true},
		{".envrc", "export A=1", true},
		{"sub/.env.production", "A=1", true},
		{".env.example", "A=", false},
		{".env.local.template", "A=", false},
		{".environment.md", "text", false},
		{"env.py", "A=1", false},
		{"key.pem", key, true},
		{"bundle.pem", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n" + key, true},
		{"ca.pem", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", false},
		{"pgp.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true},
		{"deploy_key", "-----BEGIN OPENSSH PRIVATE KEY-----\nx", true},
		{"id_rsa", "x", true},
		{"id_rsa.pub", "ssh-rsa AAAA", false},
		{"notes.txt", "A key starts with\n" + key, false},
		{"test_crypto.py", key, false},
		{"server.key", "\x30\x82", true},
		{"slides.key", "PK\x03\x04", false},
		{"verify.key", "-----BEGIN PUBLIC KEY-----\n", false},
		{"store.p12", "x", true},
		{"store.pfx", "x", true},
		{"home/.aws/credentials", "[default]", true},
		{"credentials", "some text", false},
		{".netrc", "machine", true},
		{".pypirc", "x", true},
		{".npmrc", "//host/:_authToken=abc\n", true},
		{".npmrc", "//host/:_authToken=${TOKEN}\n", false},
		{"kubeconfig", "x", true},
		{"cluster.yaml", "apiVersion: v1\nkind: Config\nusers:\n- name: a\n", true},
		{"job.yaml", "apiVersion: batch/v1\nkind: Job\n", false},
		{"sa.json", `{"type": "service_account", "private_key": "x"}`, true},
		{"adc.json", `{"type": "authorized_user", "refresh_token": "x"}`, true},
		{"config.json", `{"type": "bert", "private_key": 0}`, false},
		{"tokenizer.json", `{"model": {}}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := newTree(t, map[string]string{"a.py": "x", test.name: test.content})
			_, err := Dir(t.Context(), root, Options{TempDir: t.TempDir()})
			if got := err != nil; got != test.secret {
				t.Errorf("refused: %v, want %v (%v)", got, test.secret, err)
			}
			mustPack(t, root, Options{IncludeSecrets: true})
		})
	}
}

func TestWithAnotherFileSystem(t *testing.T) {
	with := fstest.MapFS{"trainyard/train.py": {Data: []byte("ours")}, "trainyard/__pycache__/train.pyc": {Data: []byte("x")}}
	root := newTree(t, map[string]string{"mymodel.py": "theirs", "zoo/a.py": "a"})
	p := mustPack(t, root, Options{With: with})
	want := map[string]string{"mymodel.py": "theirs", "trainyard/train.py": "ours", "zoo/a.py": "a"}
	if diff := cmp.Diff(want, contents(t, p)); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	if alone := mustPack(t, root, Options{}); alone.Name == p.Name {
		t.Error("the package with the other file system has the same name")
	}

	_, err := Dir(t.Context(), newTree(t, map[string]string{"m.py": "x", "trainyard/model.py": "x"}), Options{With: with})
	if err == nil || !strings.Contains(err.Error(), `"trainyard" is in the folder`) || fault.CodeOf(err) != fault.Usage {
		t.Errorf("a folder of the same name: %v", err)
	}
}
