package evidence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/fabric"
)

// sysfs makes a folder as Linux's. Names are below class/infiniband.
func sysfs(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "class", "infiniband", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReadCards(t *testing.T) {
	root := sysfs(t, map[string]string{
		"mlx5_0/ports/1/counters/port_xmit_data": "25\n", // words of four bytes
		"mlx5_0/ports/1/counters/port_rcv_data":  "50\n",
		"mlx5_0/ports/1/hw_counters/rx_icrc":     "0\n",
		"rdmap0s6/ports/1/hw_counters/tx_bytes":  "1000\n",
		"rdmap0s6/ports/1/hw_counters/rx_bytes":  "2000\n",
		"rdmap0s7/ports/1/hw_counters/tx_bytes":  "many\n",
		"rdmap0s7/ports/1/hw_counters/rx_bytes":  "0\n",
		"rdmap0s8/ports/1/state":                 "4: ACTIVE\n",
		"rdmap0s9/node_guid":                     "0\n",
	})
	got, err := ReadCards(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []CardReading{
		{Device: "mlx5_0", Port: 1, Sent: 100, Received: 200},
		{Device: "rdmap0s6", Port: 1, Sent: 1000, Received: 2000},
		{Device: "rdmap0s7", Port: 1, Problem: `tx_bytes: "many\n" is no count`},
		{Device: "rdmap0s8", Port: 1, Problem: "tx_bytes: no such file or directory"},
		{Device: "rdmap0s9", Problem: "ports: no such file or directory"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cards (-want +got):\n%s", diff)
	}
	path := filepath.Join(t.TempDir(), "counters.json")
	if err := SaveCards(path, got); err != nil {
		t.Fatal(err)
	}
	again, err := LoadCards(path)
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("read again, %v (-want +got):\n%s", err, diff)
	}
}

func TestReadNoCards(t *testing.T) {
	if got, err := ReadCards(t.TempDir()); len(got) > 0 || err != nil {
		t.Errorf("a machine without cards: %v, %v", got, err)
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "class"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "class", "infiniband"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCards(root); err == nil || !strings.Contains(err.Error(), "reading the network cards") {
		t.Errorf("an unreadable folder: %v", err)
	}
}

func TestGrowth(t *testing.T) {
	before := []CardReading{
		{Device: "a", Port: 1, Sent: 1, Received: 2},
		{Device: "b", Port: 1, Problem: "closed"},
		{Device: "c", Port: 1, Sent: 5},
		{Device: "d", Port: 1, Sent: 5},
	}
	after := []CardReading{
		{Device: "a", Port: 1, Sent: 11, Received: 12},
		{Device: "b", Port: 1, Sent: 9, Received: 9},
		{Device: "c", Port: 1, Problem: "closed now"},
		{Device: "e", Port: 1, Sent: 7},
	}
	want := []fabric.Counter{
		{Device: "a", Port: 1, SentBefore: 1, SentAfter: 11, ReceivedBefore: 2, ReceivedAfter: 12},
		{Device: "b", Port: 1, Problem: "closed"},
		{Device: "c", Port: 1, SentBefore: 5, Problem: "closed now"},
		{Device: "d", Port: 1, SentBefore: 5, Problem: "it was gone after the job"},
		{Device: "e", Port: 1, Problem: "it was not there before the job"},
	}
	if diff := cmp.Diff(want, Growth(before, after)); diff != "" {
		t.Errorf("growth (-want +got):\n%s", diff)
	}
}
