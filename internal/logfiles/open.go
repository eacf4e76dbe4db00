package logfiles

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/trainyard/trainyard/internal/fault"
)

const (
	// headBytes of a file tell what it is.
	headBytes = 8 << 10
	// bufferBytes are read at a time: few system calls, and it stays in the
	// processor's cache while it is parsed.
	bufferBytes = 256 << 10
	// windowBytes is the most memory that one zstd file may ask for.
	windowBytes = 128 << 20
)

// ErrNotText is the error of files that hold no text.
var ErrNotText = errors.New("it is not text")

// opener opens one file after the other and keeps what is costly to make.
type opener struct {
	progress *Progress
	raw      *bufio.Reader // of the file as it is stored
	text     *bufio.Reader // unpacked
	gzip     *gzip.Reader
	zstd     *zstd.Decoder
	buffer   []byte
}

func newOpener(progress *Progress) *opener {
	return &opener{
		progress: progress, buffer: make([]byte, bufferBytes),
		raw: bufio.NewReaderSize(nil, bufferBytes/4), text: bufio.NewReaderSize(nil, bufferBytes/4),
	}
}

func (o *opener) close() {
	if o.zstd != nil {
		o.zstd.Close()
	}
}

// open returns the text of a file. close ends the reading of it.
func (o *opener) open(ctx context.Context, p piece) (text *bufio.Reader, end func(), err error) {
	if p.from != nil {
		text, err = o.unpack(p.from)
		return text, func() {}, err
	}
	file, info, err := openFile(p.path)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = file.Close() }) // a pipe may be silent for ever
	end = func() { stop(); _ = file.Close() }
	if text, err = o.unpack(wholeFile(file, info)); err != nil {
		end()
	}
	return text, end, err
}

// openFile does not wait for somebody to open the other end of a pipe.
func openFile(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	flags := os.O_RDONLY
	if !info.Mode().IsRegular() {
		flags |= syscall.O_NONBLOCK
	}
	file, err := os.OpenFile(path, flags, 0)
	return file, info, err
}

// wholeFile reads what a file holds now, not what is added meanwhile, and
// passes over holes.
func wholeFile(file *os.File, info fs.FileInfo) io.Reader {
	switch {
	case !info.Mode().IsRegular() || info.Size() == 0: // files of the kernel have no size
		return file
	case isSparse(info):
		return &sparseReader{file: file, size: info.Size()}
	}
	return io.LimitReader(file, info.Size())
}

// unpack finds out by the content how a file is packed, and returns the text in
// it.
func (o *opener) unpack(from io.Reader) (*bufio.Reader, error) {
	o.raw.Reset(&countingReader{from, o.progress})
	head, err := o.raw.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var unpacked io.Reader
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		unpacked, err = o.gunzip()
	case isZstd(head):
		unpacked, err = o.unzstd()
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) > 4 && head[3] >= '1' && head[3] <= '9':
		unpacked, err = bzip2.NewReader(o.raw), nil
	default:
		return o.raw, checkText(head)
	}
	if err != nil {
		return nil, err
	}
	o.text.Reset(unpacked)
	if head, err = o.text.Peek(headBytes); err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	return o.text, checkText(head)
}

func (o *opener) gunzip() (io.Reader, error) {
	if o.gzip != nil {
		return o.gzip, o.gzip.Reset(o.raw)
	}
	var err error
	o.gzip, err = gzip.NewReader(o.raw)
	return o.gzip, err
}

func (o *opener) unzstd() (io.Reader, error) {
	if o.zstd != nil {
		return o.zstd, o.zstd.Reset(o.raw)
	}
	var err error
	o.zstd, err = zstd.NewReader(o.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowBytes))
	return o.zstd, err
}

// isZstd knows the frames of zstd and those that readers have to skip, with
// which some writers begin. Source: RFC 8878, 3.1.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// packings are those that are not unpacked here, by how their files begin.
var packings = []struct{ magic, name string }{
	{"\xfd7zXZ\x00", "xz"},
	{"\x04\x22\x4d\x18", "lz4"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip"},
}

// archives hold several files; many formats of programs are made of zip.
var archives = []struct {
	at          int
	magic, name string
}{{257, "ustar", "tar"}, {0, "PK\x03\x04", "zip"}}

// checkText returns an error for what is no log. [ErrNotText] is one that a
// folder may well hold.
func checkText(head []byte) error {
	for _, p := range packings {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return fault.WithHint("unpack it first; gzip, zstd and bzip2 are read as they are", fmt.Errorf("it is packed by %s", p.name))
		}
	}
	for _, a := range archives {
		if len(head) > a.at && bytes.HasPrefix(head[a.at:], []byte(a.magic)) {
			return fault.WithHint("unpack the archive and give the folder", fmt.Errorf("%w: it is a %s archive", ErrNotText, a.name))
		}
	}
	if !isText(head) {
		return ErrNotText
	}
	return nil
}

// mostStrange is the share of characters, in percent, that text may hold and
// should not: logs are interleaved, cut and in all encodings.
const mostStrange = 30

// isText tells text from other data by its head. NULs do not count: UTF-16 is
// full of them, and so are files that several processes overwrite.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.HasPrefix(head, []byte("%PDF-")) {
		return false
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	strange, all := 0, 0
	for len(head) > 0 && utf8.FullRune(head) {
		r, n := utf8.DecodeRune(head)
		head = head[n:]
		if r == 0 {
			continue
		}
		all++
		if r == utf8.RuneError && n == 1 || r < ' ' && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) {
			strange++
		}
	}
	return strange*100 <= all*mostStrange
}

// countingReader adds what is read to the progress.
type countingReader struct {
	from     io.Reader
	progress *Progress
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.progress.bytes.Add(int64(n))
	return n, err
}
