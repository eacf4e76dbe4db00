package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"empty":          {"", "cluster:\n  image: b:2\n"},
		"no section":     {"version: 1 # of the file", "version: 1 # of the file\ncluster:\n  image: b:2\n"},
		"empty section":  {"cluster:\n  #image: a:1\nverify:\n", "cluster:\n  image: b:2\n  #image: a:1\nverify:\n"},
		"other settings": {"cluster:\n    nodes: 3\n", "cluster:\n    image: b:2\n    nodes: 3\n"},
		"plain":          {"cluster:\n  image: a:1  # ours\n  nodes: 3\n", "cluster:\n  image: b:2  # ours\n  nodes: 3\n"},
		"quoted":         {"cluster: {nodes: 2, image: \"a:1\"}\r\n", "cluster: {nodes: 2, image: b:2}\r\n"},
		"single quotes":  {"cluster:\n  image: 'a:1'", "cluster:\n  image: b:2"},
		"no value":       {"cluster:\n  image:\n", "cluster:\n  image: b:2\n"},
	} {
		got, err := Edit([]byte(test.file), "cluster.image", "b:2")
		if diff := cmp.Diff(test.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestEditLeavesTheRestToPeople(t *testing.T) {
	for name, file := range map[string]string{
		"flow mapping": "cluster: {nodes: 2}\n",
		"folded":       "cluster:\n  image: >-\n    a:1\n",
		"anchor":       "cluster: *other\n",
		"escaped":      "cluster:\n  image: \"a\\x3a1\"\n",
	} {
		if got, err := Edit([]byte(file), "cluster.image", "b:2"); err == nil || name != "anchor" && !errors.Is(err, errNotEditable) {
			t.Errorf("%s: %q, %v, want an error", name, got, err)
		}
	}
}

// TestEditTemplate: what init writes can be edited, and says then what was meant.
func TestEditTemplate(t *testing.T) {
	file, err := Edit([]byte(Template()), "cluster.image", "registry.example.com/ray:v1")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Sources{File: file, FileName: FileName})
	if err != nil || cfg.Cluster.Image != "registry.example.com/ray:v1" {
		t.Errorf("image = %q, %v", cfg.Cluster.Image, err)
	}
}
