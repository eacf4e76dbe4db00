package train_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/train"
)

func TestPackageHoldsTheFilesOfTheFolder(t *testing.T) {
	want := pythonFiles(t)
	if !slices.Contains(want, filepath.Join("trainyard", "train.py")) {
		t.Fatalf("no trainyard/train.py among %q", want)
	}
	var got []string
	err := fs.WalkDir(train.Package(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, filepath.FromSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("embedded files (-folder +embedded):\n%s", diff)
	}
	for _, path := range want {
		folder, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		embedded, err := fs.ReadFile(train.Package(), filepath.ToSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(folder, embedded) {
			t.Errorf("%s differs from its embedded copy", path)
		}
	}
}

func pythonFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("trainyard", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".py" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A caller that changes what it was given must not change what others get.
func TestLockIsACopy(t *testing.T) {
	want, err := os.ReadFile("requirements.lock")
	if err != nil {
		t.Fatal(err)
	}
	clear(train.Lock())
	if !bytes.Equal(train.Lock(), want) {
		t.Error("Lock() is not the content of requirements.lock")
	}
}
