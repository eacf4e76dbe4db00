package logfiles

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// sparseReader reads a file and passes over its holes, each of which becomes a
// single NUL: what stands on both sides is kept apart, and no line is added.
type sparseReader struct {
	file     *os.File
	size     int64
	at, hole int64 // position, and where the data there ends
}

func (r *sparseReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.at == r.hole {
		before := r.at
		if err := r.next(); err != nil {
			return 0, err
		}
		if r.at > before {
			p[0] = 0
			return 1, nil
		}
	}
	p = p[:min(int64(len(p)), r.hole-r.at)]
	n, err := r.file.ReadAt(p, r.at)
	r.at += int64(n)
	return n, err
}

// next finds the data that follows. A file system without holes says that all
// is data.
func (r *sparseReader) next() error {
	data, err := r.file.Seek(r.at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // only a hole is left
		r.at, r.hole = r.size, r.size
		return nil
	case err != nil:
		return err
	}
	hole, err := r.file.Seek(data, unix.SEEK_HOLE)
	r.at, r.hole = min(data, r.size), min(hole, r.size)
	return err
}
