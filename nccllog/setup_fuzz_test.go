package nccllog_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainyard/trainyard/nccllog"
)

// FuzzMessages: whatever the messages of a process's threads are, the edges of
// one run are of one rank and of one communicator, and the facts are sound.
func FuzzMessages(f *testing.F) {
	paths, err := filepath.Glob("testdata/nccl-2.28.9-comms/*")
	if err != nil || len(paths) == 0 {
		f.Fatalf("reading seeds: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var seed bytes.Buffer
		for line := range bytes.Lines(b) {
			if _, msg, ok := bytes.Cut(line, []byte("NCCL INFO ")); ok {
				fmt.Fprintf(&seed, "1%s", msg)
			}
		}
		f.Add(seed.Bytes())
	}
	f.Add([]byte("2" + world + "START\n2" + world + "COMPLETE\n2" + replica + "START\n2" + replica + "COMPLETE\n" +
		"5Channel 00/1 : 0[0] -> 1[1] [send] via NET/Socket/0\n5Channel 00 : 0[0] -> 1[1] via SHM/direct\n" +
		"6NVLS comm 0xcc headRank 0\n6Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0(3)/GDRDMA\n6Connected NVLS tree\n" +
		"5Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0 comm 0xaa nRanks 08\n5Connected all trees\n"))
	f.Add([]byte("1Using network IB\n1Trees [0] 1\n1Ring 00 : 1 -> 0 [receive] via NET/IB/0\n1Connected all rings\n" +
		"1comm 0xaa rank 0 nranks 2 cudaDev 0 busId 1b0 - Init COMPLETE\n1comm 0xaa rank 0 nranks 2 - Destroy COMPLETE\n" +
		"1NET/IB : Using [0]mlx5_0:1/IB [1]a:b:2/RoCE ; OOB eth0\n1NET/OFI NIC group 2 device #1\n1NET/Plugin : Plugin load (x) returned 2 : \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var text bytes.Buffer
		for line := range bytes.Lines(b) {
			fmt.Fprintf(&text, "h:1:%d [0] NCCL INFO %s", 1+line[0]%8, line[1:])
		}
		log := parse(text.String())
		check(t, log, text.Len())
		for _, p := range log.Processes {
			checkRuns(t, p)
		}
	})
}

// checkRuns holds what package fabric builds on.
func checkRuns(t *testing.T, p *nccllog.Process) {
	runs := map[int]*nccllog.Edge{}
	for _, e := range p.Edges {
		first := runs[e.Setup]
		if first == nil {
			runs[e.Setup] = e
			first = e
		}
		if e.Setup < 1 || e.Own() != first.Own() || e.Comm != first.Comm {
			t.Errorf("in one run: %+v and %+v", first, e)
		}
	}
	for _, c := range p.Connected {
		if e := runs[c.Setup]; c.Setup != 0 && e != nil && e.Comm != c.Comm {
			t.Errorf("%+v ends the run of %+v", c, e)
		}
	}
}
