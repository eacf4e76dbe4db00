package pack

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"time"
)

var errTooLarge = errors.New("zip too large")

// nameBytes of the hash go into the name: 128 bits leave no room for accidents
// and keep Ray's paths short.
const nameBytes = 16

// zipTime is the time of every entry: the earliest that the format can hold.
var zipTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeZip writes the entries, which must be sorted, into a temporary file. It
// hashes what it writes as it goes, so that the name is right even where files
// change meanwhile, and stops with errTooLarge once the zip is past limit.
func writeZip(ctx context.Context, entries []entry, limit int64, tempDir string) (_ Package, err error) {
	f, err := os.CreateTemp(tempDir, "trainyard-package-*.zip")
	if err != nil {
		return Package{}, fmt.Errorf("creating package: %w", err)
	}
	p := Package{Path: f.Name()}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = p.Close()
		}
	}()
	out := &limitWriter{w: bufio.NewWriterSize(f, 1<<20), left: limit}
	z := zipper{ctx: ctx, zip: zip.NewWriter(out), sum: sha256.New()}
	for _, e := range entries {
		if err := z.add(e); err != nil {
			return Package{}, err
		}
	}
	if err := errors.Join(z.zip.Close(), out.w.Flush(), f.Close()); err != nil {
		return Package{}, writing(err)
	}
	p.Name = "_ray_pkg_" + hex.EncodeToString(z.sum.Sum(nil)[:nameBytes]) + ".zip"
	p.Files, p.Bytes, p.ZipBytes = z.files, z.bytes, limit-out.left
	return p, nil
}

// writing leaves errTooLarge alone and names the step of any other error.
func writing(err error) error {
	if errors.Is(err, errTooLarge) {
		return errTooLarge
	}
	return fmt.Errorf("writing package: %w", err)
}

type zipper struct {
	ctx   context.Context
	zip   *zip.Writer
	sum   hash.Hash
	files int
	bytes int64
}

func (z *zipper) add(e entry) error {
	if e.dir {
		_, err := z.create(e)
		return err
	}
	src, err := e.from.Open(e.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since it was listed
	}
	if err != nil {
		return fmt.Errorf("reading %q: %w", e.name, cause(err))
	}
	defer func() { _ = src.Close() }()
	dst, err := z.create(e)
	if err != nil {
		return err
	}
	content := sha256.New()
	in := &reader{ctx: z.ctx, r: src}
	n, err := io.Copy(io.MultiWriter(dst, content), in)
	switch {
	case in.err != nil:
		return fmt.Errorf("reading %q: %w", e.name, cause(in.err))
	case err != nil:
		return writing(err)
	}
	z.sum.Write(content.Sum(nil))
	z.files++
	z.bytes += n
	return nil
}

// create starts an entry of the zip and hashes its name and mode. The length
// keeps one entry's name apart from what comes before.
func (z *zipper) create(e entry) (io.Writer, error) {
	h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: zipTime}
	switch {
	case e.dir:
		h.Name += "/"
		h.SetMode(fs.ModeDir | 0o755)
	case e.exec:
		h.SetMode(0o755)
	default:
		h.SetMode(0o644)
	}
	z.sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(h.Name))))
	z.sum.Write([]byte(h.Name))
	z.sum.Write(binary.BigEndian.AppendUint32(nil, uint32(h.Mode())))
	w, err := z.zip.CreateHeader(h)
	if err != nil {
		return nil, writing(err)
	}
	return w, nil
}

// reader ends with the context and remembers the error of the reading side.
type reader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		r.err = err
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

type limitWriter struct {
	w    *bufio.Writer
	left int64
}

func (w *limitWriter) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, errTooLarge
	}
	return w.w.Write(p)
}
