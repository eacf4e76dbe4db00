package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trainyard/trainyard/internal/fault"
)

// FileName is the name of the run file.
const FileName = "trainyard.yaml"

// Find reads the run file of the working directory dir, and of no folder
// above it. The data is nil where there is none. A trainyard.yml alone is an
// error, since ignoring it would run with the defaults.
func Find(dir string) (data []byte, err error) {
	data, err = Read(filepath.Join(dir, FileName))
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	other := filepath.Join(dir, "trainyard.yml")
	if _, err := os.Stat(other); err != nil {
		return nil, nil
	}
	return nil, fault.WithCode(fault.Usage, fault.WithHint("mv trainyard.yml "+FileName,
		fmt.Errorf("reading run file: found %q, must be named %q", other, FileName)))
}

// Read reads a run file for [Sources], as much of it as Load needs to see
// that it is too large. Its data is never nil when err is.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.WithCode(fault.Usage, fmt.Errorf("reading run file: %w", err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fault.WithCode(fault.Usage, fmt.Errorf("reading run file: %w", err))
	}
	return data, nil
}
