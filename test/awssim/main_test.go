package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The JSON of the README is read as a seed, and the conditions in it too.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of JSON, want a seed and conditions", len(blocks))
	}
	seed := strings.TrimSuffix(strings.TrimSpace(string(blocks[0][1])), "}") + `, "conditions": ` + string(blocks[1][1]) + "}"
	path := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(path, []byte(seed), 0o600); err != nil {
		t.Fatal(err)
	}
	// The environment is printed once the world stands and the address is known.
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error)
	go func() {
		err := run(ctx, []string{"-seed", path, "-latency", "-limits"}, in, io.Discard)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	first := make([]byte, 512)
	n, _ := out.Read(first)
	if !bytes.HasPrefix(first[:n], []byte("export AWS_ENDPOINT_URL=http://127.0.0.1:")) {
		t.Errorf("it printed %q", first[:n])
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(bad, []byte(`{"acounts": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"loopback":      {"-listen", "0.0.0.0:0"},
		"reading":       {"-seed", "none.json"},
		"unknown field": {"-seed", bad},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", args, err, want)
		}
	}
}
