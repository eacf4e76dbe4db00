package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/bench/ranklog"
	"github.com/trainyard/trainyard/fabric"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/rayjob"
)

// cards of a node.
const cards = 32

// perNode is what every node must have sent to others.
const perNode = 1 << 40

// verdict reads what the surveys before and after a job and the logs of its
// workers say, as they come from Ray, and judges them.
func verdict(_ context.Context, p place) (string, error) {
	dir, err := os.MkdirTemp("", "bench-kubernetes-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	machines, err := machinesOf(dir, p.workers)
	if err != nil {
		return "", err
	}
	ranks := p.workers * ranklog.GPUs
	g := evidence.Gatherer{Dir: dir}
	read := int64(0)
	for rank := range ranks {
		text := strings.Join(ranklog.Lines(rank, ranks), "\n") + "\n"
		read += int64(len(text))
		g.Chunk(rayjob.Chunk{Source: rayjob.Source{
			NodeName: nodeName(rank / ranklog.GPUs), File: fmt.Sprintf("worker-%056x-01000000-%d.out", rank, 1000+rank), PID: 1000 + rank,
		}, Data: []byte(text)})
	}
	if err := g.Close(); err != nil {
		return "", err
	}
	v := g.Judge(fabric.EFA, evidence.Facts{
		Ranks: ranks, Nodes: p.workers, GPUs: ranks, Machines: machines, BytesPerNode: perNode,
	})
	report, err := json.Marshal(v)
	return fmt.Sprintf("%d ranks, %.0f MB of logs: %s, %s; %.1f MB of JSON", ranks, mega(read), v.Verdict, v.Summary, mega(int64(len(report)))), err
}

// machinesOf reads and writes the surveys of all nodes, before and after.
func machinesOf(dir string, nodes int) ([]fabric.Machine, error) {
	path := filepath.Join(dir, "nodes-before.json")
	before, err := evidence.ParseSurveys(surveys(nodes, 0))
	if err != nil {
		return nil, err
	}
	if err := evidence.SaveSurveys(path, before); err != nil {
		return nil, err
	}
	if before, err = evidence.LoadSurveys(path); err != nil {
		return nil, err
	}
	after, err := evidence.ParseSurveys(surveys(nodes, 2*perNode/cards))
	if err != nil {
		return nil, err
	}
	return evidence.Grown(before, after), evidence.SaveSurveys(filepath.Join(dir, "nodes-after.json"), after)
}

// surveys is what the job that surveys nodes prints.
func surveys(nodes int, sent uint64) []byte {
	var all bytes.Buffer
	for i := range nodes {
		counters := make([]evidence.CardReading, cards)
		for c := range counters {
			counters[c] = evidence.CardReading{Device: fmt.Sprintf("rdmap%ds0", c), Port: 1, Sent: sent, Received: sent}
		}
		text, _ := json.Marshal(counters) // numbers and names
		fmt.Fprintf(&all, `{"trainyard": 1, "event": "node", "node": %q, "host": %q, "driver": "580.159.04", "efa_driver": "2.17.2", "counters": %s, "devices": ["/dev/nvidia0"], "fi_info": {"domains": ["rdmap0s6-rdm"]}, "environment": {"FI_PROVIDER": "efa"}}`+"\n",
			nodeName(i), nodeName(i), text)
	}
	return all.Bytes()
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }
