// Package train holds the built-in training package and the exact versions of
// what it needs, both written in and for Python, as part of the binary.
package train

import (
	"embed"
	"io/fs"
)

//go:embed trainyard/*.py trainyard/*/*.py
var source embed.FS

//go:embed requirements.lock
var lock string

// Package returns a file system that holds the Python package and nothing
// else: its root has one folder, trainyard, with the package's files.
//
// `python -m trainyard.train` runs in a folder with this content.
func Package() fs.FS { return source }

// Lock returns the lock file of the package's environment: a pip requirements
// file with exact versions and hashes of everything to install.
func Lock() []byte { return []byte(lock) }
