package logfiles

import (
	"io/fs"
	"syscall"
)

// fileID tells a file from all others, whatever its names.
type fileID struct{ device, inode uint64 }

func idOf(info fs.FileInfo) (fileID, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return fileID{}, false
	}
	return fileID{uint64(stat.Dev), stat.Ino}, true //nolint:gosec,unconvert // its type differs between systems
}

// isSparse tells whether the file has less on disk than its size says.
func isSparse(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Blocks*512 < info.Size()
}
