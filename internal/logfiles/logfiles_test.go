package logfiles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/trainyard/trainyard/nccllog"
)

const socketLine = "host0:10:20 [0] NCCL INFO Using network Socket\n"

// tree writes files below a new folder; names that end in / are folders.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		folder := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if folder == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func find(t *testing.T, paths ...string) Found {
	t.Helper()
	found, err := Finder{}.Find(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, paths ...string) []Read {
	t.Helper()
	logs, err := ReadAll(t.Context(), find(t, paths...).Logs, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	return logs
}

// below lists the names of logs relative to the folder.
func below(dir string, logs []Log) []string {
	names := []string{}
	for _, log := range logs {
		name, _ := filepath.Rel(dir, log.Name)
		names = append(names, name)
	}
	return names
}

func TestFindWalksFolders(t *testing.T) {
	dir := tree(t, map[string]string{"b/1.log": "x", "a.log": "x", "c/d/2.log": "x", ".git/config": "x", "empty/": ""})
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(dir, "c/loop")
	link("loop1", "loop1")
	link("nowhere", "broken")
	link("a.log", "again.log")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := find(t, filepath.Join(dir, "c"), dir, filepath.Join(dir, "a.log"), filepath.Join(dir, "b"))
	want := []string{"c/d/2.log", "a.log", "b/1.log"}
	if diff := cmp.Diff(want, below(dir, found.Logs)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if len(found.Problems) > 0 {
		t.Errorf("links to nothing are problems: %v", found.Problems)
	}
}

func TestFindThroughALink(t *testing.T) {
	dir := tree(t, map[string]string{"session_1/logs/a.log": "x"})
	if err := os.Symlink("session_1", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	found := find(t, filepath.Join(dir, "latest"))
	if diff := cmp.Diff([]string{"latest/logs/a.log"}, below(dir, found.Logs)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestFindTellsAllThatIsWrong(t *testing.T) {
	dir := tree(t, map[string]string{"empty/": "", "good.log": "x"})
	_, err := Finder{}.Find(t.Context(), []string{
		filepath.Join(dir, "none"), filepath.Join(dir, "good.log"), filepath.Join(dir, "empty"), os.DevNull,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`none": there is no such file`, `empty": there are none`, `null": it is a device`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not hold %q", err, want)
		}
	}
}

func TestRotated(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  [][]string
		gap   bool
	}{
		{"numbers", []string{"x.log", "x.log.1", "x.log.10.gz", "x.log.2"}, [][]string{{"x.log.10.gz", "x.log.2", "x.log.1", "x.log"}}, true},
		{"whole", []string{"x.log", "x.log.1.gz", "x.log.2.gz"}, [][]string{{"x.log.2.gz", "x.log.1.gz", "x.log"}}, false},
		{"kubelet", []string{"0.log", "0.log.20261129-224434", "0.log.20261128-010203.gz"}, [][]string{{"0.log.20261128-010203.gz", "0.log.20261129-224434", "0.log"}}, false},
		{"dateext", []string{"x.log", "x.log-20261129.gz"}, [][]string{{"x.log-20261129.gz", "x.log"}}, false},
		{"ranks", []string{"nccl.host.11", "nccl.host.12"}, [][]string{{"nccl.host.11"}, {"nccl.host.12"}}, false},
		{"ranks from 0", []string{"out", "out.0", "out.1"}, [][]string{{"out"}, {"out.0"}, {"out.1"}}, false},
		{"other folder", []string{"a/x.log", "b/x.log.1"}, [][]string{{"a/x.log"}, {"b/x.log.1"}}, false},
		{"packed twice", []string{"x.log", "x.log.gz"}, [][]string{{"x.log"}, {"x.log.gz"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var files []Log
			for _, name := range tt.files {
				files = append(files, Log{Name: name, pieces: []piece{{path: name}}})
			}
			var got [][]string
			gap := false
			for _, log := range rotated(files) {
				got = append(got, log.Files())
				gap = gap || log.Truncated
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("logs (-want +got):\n%s", diff)
			}
			if gap != tt.gap {
				t.Errorf("truncated = %v, want %v", gap, tt.gap)
			}
		})
	}
}

func TestRotatedLinesHaveTheirPlace(t *testing.T) {
	dir := tree(t, map[string]string{"x.log.2": "a\nb\n", "x.log.1": "c\nd", "x.log": "e\n" + socketLine})
	log := read(t, dir)[0]
	got := log.Parsed.Processes[0].Networks[0]
	if got.Line != 6 {
		t.Errorf("line %d, want 6", got.Line)
	}
	for line, want := range map[int64]string{1: "x.log.2:1", 2: "x.log.2:2", 3: "x.log.1:1", 4: "x.log.1:2", 5: "x.log:1", 6: "x.log:2"} {
		path, at := log.Place(line)
		if place := filepath.Base(path) + ":" + string(rune('0'+at)); place != want {
			t.Errorf("line %d is %s, want %s", line, place, want)
		}
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func tarred(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "x.log", Size: int64(len(text)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// bzipped is socketLine, packed by bzip2.
const bzipped = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x42\x63\x14\xea\x00\x00\x0f\xdf\x80\x00\x10\x40\x00\x70\x10\x09\x25\x8a\x0a\x0a\xe9\x9c\x80\x20\x00\x31\x46\x86\x80\x00\x00\x22\x9e\x90\x68\xf4\x9b\x53\xd4\xd0\xc3\xd2\x81\x1a\xab\x1f\x52\x29\x4e\x4b\x62\x65\x35\x81\xb3\x43\x2d\x6e\xb7\x2a\x01\x6d\xc5\x9d\xe4\x0d\xd0\xeb\xf8\xbb\x92\x29\xc2\x84\x82\x13\x18\xa7\x50"

// Names say nothing of how a file is packed.
func TestPackedFilesReadLikePlainOnes(t *testing.T) {
	text := strings.Repeat("step 1\n", 5000) + socketLine + strings.Repeat("step 2\n", 50_000)
	dir := tree(t, map[string]string{
		"1": text, "2.gz": text, "3": gzipped(t, text), "4": zstded(t, text), "5.txt": gzipped(t, text[:40_000]) + gzipped(t, text[40_000:]),
		"6": "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstded(t, text), // begins with a frame to skip
	})
	var want *nccllog.Log
	for _, log := range read(t, dir) {
		if log.Err != nil {
			t.Fatal(log.Err)
		}
		log.Parsed.Source = ""
		if want == nil {
			want = log.Parsed
			if len(want.Processes) != 1 || want.Processes[0].Networks[0].Line != 5001 {
				t.Fatalf("the plain file shows %d processes", len(want.Processes))
			}
			continue
		}
		if diff := cmp.Diff(want, log.Parsed); diff != "" {
			t.Errorf("%s (-plain +got):\n%s", log.Name, diff)
		}
	}
}

func TestBzip2(t *testing.T) {
	if log := read(t, tree(t, map[string]string{"x": bzipped}))[0]; log.Err != nil || log.Parsed.Info != 1 {
		t.Errorf("err %v, %d lines, want 1", log.Err, log.Parsed.Info)
	}
}

func TestFilesThatAreNoText(t *testing.T) {
	noise := string(bytes.Repeat([]byte("\x01\x02\x03\x04\x80\x90\xfe"), 2000))
	tests := []struct{ name, content, named, inFolder string }{
		{"noise", noise, "it is not text", ""},
		{"elf", "\x7fELF" + socketLine, "it is not text", ""},
		{"zip", "PK\x03\x04" + socketLine, "it is not text: it is a zip archive", ""},
		{"tar", tarred(t, socketLine), "it is not text: it is a tar archive", ""},
		{"tar.gz", gzipped(t, tarred(t, socketLine)), "it is not text: it is a tar archive", ""},
		{"noise.gz", gzipped(t, noise), "it is not text", ""},
		{"xz", "\xfd7zXZ\x00" + noise, "it is packed by xz", "it is packed by xz"},
		{"cut.gz", gzipped(t, socketLine)[:12], "unexpected EOF", "unexpected EOF"},
		{"no.gz", "\x1f\x8b\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", "gzip: invalid header", "gzip: invalid header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"x": tt.content})
			path := filepath.Join(dir, "x")
			if got, want := errorText(read(t, path)[0].Err), ` "`+path+`": `+tt.named; !strings.HasSuffix(got, want) {
				t.Errorf("Named: error %q, want %q", got, want)
			}
			log := read(t, dir)[0]
			if got := errorText(log.Err); !strings.HasSuffix(got, tt.inFolder) || (got == "") != (tt.inFolder == "") {
				t.Errorf("in a folder: error %q, want %q", got, tt.inFolder)
			}
			if passedOver := log.Parsed == nil; passedOver != (tt.inFolder == "") {
				t.Errorf("in a folder: passed over = %v", passedOver)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTextInManyEncodings(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "utf-8": "Größe → ok\n", "latin-1": "Gr\xf6\xdfe " + socketLine, "colours": "\x1b[36m(Worker pid=1)\x1b[0m x\n",
		"utf-16": "\xff\xfeh\x00o\x00", "no mark": "h\x00o\x00s\x00t\x000\x00", "holes": strings.Repeat("\x00", 5000) + socketLine, "progress": "10%\r20%\r",
		"half a rune": "ab\xe2\x86",
	} {
		if !isText([]byte(text)) {
			t.Errorf("%s is not taken for text", name)
		}
	}
}

// What is left of a file that was cut counts, and that it was cut.
func TestCutGzip(t *testing.T) {
	packed := gzipped(t, socketLine+strings.Repeat("x", 1000))
	log := read(t, filepath.Join(tree(t, map[string]string{"x": packed[:len(packed)-8]}), "x"))[0]
	if !errors.Is(log.Err, io.ErrUnexpectedEOF) || !log.Truncated || log.Parsed.Info != 1 {
		t.Errorf("err %v, truncated %v, %d lines; want an error, true and 1", log.Err, log.Truncated, log.Parsed.Info)
	}
}

func TestHolesAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(text string, at int64) {
		t.Helper()
		if _, err := file.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n", 1<<30)
	write("two\n"+socketLine, 5<<30)
	if err := file.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	var progress Progress
	logs, err := ReadAll(t.Context(), find(t, path).Logs, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if got := logs[0].Parsed.Processes[0].Networks[0].Line; got != 3 {
		t.Errorf("the line is number %d, want 3", got)
	}
	if progress.Bytes() > 1<<20 {
		t.Errorf("%d bytes were read", progress.Bytes())
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := tree(t, map[string]string{"a.log": socketLine, "b.log": socketLine})
	logs := find(t, dir).Logs
	if err := os.Remove(filepath.Join(dir, "b.log")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(t.Context(), logs, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Err != nil || got[0].Parsed.Info != 1 {
		t.Errorf("a.log: %v, %d lines", got[0].Err, got[0].Parsed.Info)
	}
	if !errors.Is(got[1].Err, fs.ErrNotExist) || !got[1].Truncated || got[1].Parsed == nil {
		t.Errorf("b.log: error %v, truncated %v", got[1].Err, got[1].Truncated)
	}
}

// A pipe that nobody writes to is empty; one that somebody holds open and does
// not write to is given up with the context.
func TestPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if log := read(t, path)[0]; log.Err != nil || log.Parsed.Bytes != 0 {
		t.Errorf("nobody writes: %v, %d bytes", log.Err, log.Parsed.Bytes)
	}
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	logs := find(t, path).Logs
	cancel()
	if _, err := ReadAll(ctx, logs, &Progress{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	progress := &Progress{}
	if _, err := held.WriteString(socketLine); err != nil {
		t.Fatal(err)
	}
	go func() {
		for progress.Bytes() == 0 {
			runtime.Gosched()
		}
		cancel()
	}()
	if _, err := ReadAll(ctx, logs, progress); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
}

func TestStdin(t *testing.T) {
	found, err := Finder{Stdin: strings.NewReader(gzipped(t, socketLine))}.Find(t.Context(), []string{"-", "-"})
	if err != nil {
		t.Fatal(err)
	}
	logs, err := ReadAll(t.Context(), found.Logs, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 || logs[0].Parsed.Source != "stdin" || logs[0].Parsed.Info != 1 {
		t.Errorf("got %d logs", len(logs))
	}
}

func TestKnownFolder(t *testing.T) {
	dir := tree(t, map[string]string{"all/run/logs/a.out": "x", "all/run/logs/list.json": "x", "all/run/events.jsonl": socketLine})
	finder := Finder{Folder: func(dir string) (Folder, bool) {
		return Folder{
			Dir: filepath.Join(dir, "logs"), Job: "run", World: 4, Other: []string{"list.json"},
			Files: map[string]Facts{"a.out": {Node: "node0", Truncated: true}},
		}, filepath.Base(dir) == "run"
	}}
	found, err := finder.Find(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"all/run/logs/a.out"}, below(dir, found.Logs)); diff != "" {
		t.Fatalf("logs (-want +got):\n%s", diff)
	}
	if log := found.Logs[0]; log.Node != "node0" || log.Job != "run" || !log.Truncated || found.World["run"] != 4 {
		t.Errorf("node %q, job %q, truncated %v, world %v", log.Node, log.Job, log.Truncated, found.World)
	}
}

// What a folder tells of its files counts for files that are named one by one.
func TestFilesOfAKnownFolder(t *testing.T) {
	dir := tree(t, map[string]string{"logs/a.out": "x", "logs/list.json": "x", "logs/below/b.out": "x"})
	finder := Finder{Folder: func(folder string) (Folder, bool) {
		return Folder{
			Dir: filepath.Join(dir, "logs"), Job: "run", World: 4, Other: []string{"list.json"},
			Files: map[string]Facts{"a.out": {Truncated: true}},
		}, strings.HasPrefix(filepath.Base(folder), "logs") || filepath.Base(folder) == "below"
	}}
	found, err := finder.Find(t.Context(), []string{filepath.Join(dir, "logs/list.json"), filepath.Join(dir, "logs/a.out"), filepath.Join(dir, "logs/below/b.out")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"logs/a.out", "logs/below/b.out"}, below(dir, found.Logs)); diff != "" {
		t.Fatalf("logs (-want +got):\n%s", diff)
	}
	if a, b := found.Logs[0], found.Logs[1]; a.Job != "run" || !a.Truncated || found.World["run"] != 4 || b.Job != "" {
		t.Errorf("a: job %q, truncated %v, world %v; b: job %q", a.Job, a.Truncated, found.World, b.Job)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte(socketLine))
	f.Add([]byte(bzipped))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log := Log{Name: "x", Named: true, pieces: []piece{{path: "x", from: bytes.NewReader(data)}}}
		logs, err := ReadAll(t.Context(), []Log{log}, &Progress{})
		if err != nil || logs[0].Parsed == nil {
			t.Errorf("err %v, parsed %v", err, logs[0].Parsed)
		}
		if logs[0].Err != nil && !logs[0].Truncated {
			t.Errorf("error %v, and nothing is said to be missing", logs[0].Err)
		}
	})
}
