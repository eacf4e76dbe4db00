package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Name is the name of the image; no registry has it.
const Name = "trainyard.test/ray:1"

// Write writes the image for a Python, with a layer of Layer, to file, as an
// archive of Docker's, which also containerd imports.
func Write(file, layer string, p Python) error {
	content, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer content.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := archive(out, content, p); err != nil {
		return fmt.Errorf("writing an image: %w", err)
	}
	return out.Close()
}

func archive(out io.Writer, layer *os.File, p Python) error {
	hash := sha256.New()
	size, err := io.Copy(hash, layer)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", hash.Sum(nil))}},
		"config": map[string]any{
			"Env": []string{
				"PATH=" + p.bin() + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				"HOME=/root",
				"PYTHONDONTWRITEBYTECODE=1", // it cannot
			},
			"WorkingDir": "/root",
			"Cmd":        []string{"sleep", "infinity"}, // what holds a pod together
		},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{Name}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	for name, content := range map[string][]byte{"config.json": config, "manifest.json": manifest} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "layer.tar", Mode: 0o644, Size: size}); err != nil {
		return err
	}
	if _, err := io.Copy(w, layer); err != nil {
		return err
	}
	return w.Close()
}
