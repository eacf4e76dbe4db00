package nccllog_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/nccllog"
)

// facts names what a log says of processes, so that tests read in one line:
// host:pid, networks, edges.
func facts(log *nccllog.Log) []string {
	var all []string
	for _, p := range log.Processes {
		all = append(all, fmt.Sprintf("%s:%d", p.Host, p.PID))
		for _, n := range p.Networks {
			all = append(all, "network "+n.Name)
		}
		for _, e := range p.Edges {
			all = append(all, fmt.Sprintf("%d>%d %s %s/%d gdr=%v", e.From, e.To, e.Direction, e.Net, e.Device, e.GDR))
		}
	}
	return all
}

const (
	usingEFA = "vm:27:569 [6] NCCL INFO Using network Libfabric"
	edgeEFA  = "vm:27:569 [6] NCCL INFO Channel 00/0 : 1[6] -> 0[6] [receive] via NET/Libfabric/3/GDRDMA"
)

var (
	justUsing = []string{"vm:27", "network Libfabric"}
	both      = []string{"vm:27", "network Libfabric", "1>0 receive Libfabric/3 gdr=true"}
)

// TestWrappers: what container runtimes, launchers and consoles put around a
// line is peeled off.
func TestWrappers(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"ray", "(RayTrainWorker pid=27, ip=10.0.0.7) " + usingEFA, justUsing},
		{"old ray", "(pid=27, ip=10.0.0.7) " + usingEFA, justUsing},
		{"ray in colour", "\x1b[2m\x1b[36m(RayTrainWorker pid=27)\x1b[0m " + usingEFA, justUsing},
		{"ray twice", "(TrainTrainable pid=5) (RayTrainWorker pid=27, ip=10.0.0.7) " + usingEFA, justUsing},
		{"ray, repeated", "\x1b[36m(W pid=27)\x1b[0m " + edgeEFA + "\x1b[32m [repeated 3x across cluster]\x1b[0m\n" + usingEFA, both},
		{"kubectl", "[pod/train-0/worker] " + usingEFA + "\n[pod/train-0/worker] " + edgeEFA, both},
		{"kubectl with time stamps", "2026-11-29T22:41:22.123456789Z " + usingEFA, justUsing},
		{"kubectl with both", "[pod/train-0/worker] 2026-11-29T22:41:22.123456789Z " + usingEFA, justUsing},
		{"mpirun", "[1,30]<stdout>:" + usingEFA, justUsing},
		{"mpirun after blanks", "   [1,30]<stdout>: " + usingEFA, justUsing},
		{"mpirun in html", "[1,30]&lt;stdout&gt;:" + usingEFA, justUsing},
		{"pdsh", "node-7: " + usingEFA, justUsing},
		{"pdsh by address", "10.3.35.83: " + usingEFA, justUsing},
		{"parallel", "node-7\t" + usingEFA, justUsing},
		{"torchrun", "[default3]:" + usingEFA + "\n[rank3]:" + edgeEFA, both},
		{"srun", " 3: " + usingEFA + "\n 3: " + edgeEFA, both},
		{"hydra", "[155] " + usingEFA, justUsing},
		{"hydra, named", "[155] node0: " + usingEFA, justUsing},
		{"magic", "# MAGIC " + usingEFA, justUsing},
		{"github actions", "2026-11-29T22:41:22.1234567Z " + usingEFA, justUsing},
		{"github actions with a mark", "\ufeff2026-11-29T22:41:22.1234567Z " + usingEFA, justUsing},
		{"syslog", "Nov 29 22:41:22 node7 train[991]: " + usingEFA, justUsing},
		{"syslog with a priority", "<14>1 2026-11-29T22:41:22.003Z node7 train 991 - - " + usingEFA, justUsing},
		{"time stamp of NCCL", "[2026-11-29 22:41:22] " + usingEFA, justUsing},
		{"time stamp of any form", "Sat 29/11 22h41 .123 " + usingEFA, justUsing},
		{"cloudwatch table", "|   2025-05-16T16:39:55.218-07:00   | " + usingEFA + " |\n|  2025-05-16T16:39:55.219-07:00  |  " + edgeEFA + "     |", both},
		{"cloudwatch, glued", "2025-05-16T16:39:55.218-07:00" + usingEFA, justUsing},
		{"cloudwatch, glued, with a blank", "2025-05-16 16:39:55,218" + usingEFA, justUsing},
		{"cloudwatch, twice", "2025-05-16T16:39:55.218Z" + edgeEFA + edgeEFA, []string{"vm:27", "1>0 receive Libfabric/3 gdr=true"}},
		{"html", "vm:27:569 [6] NCCL INFO Channel 00/0 : 1[6] -&gt; 0[6] [receive] via NET/Libfabric/3/GDRDMA\n" + usingEFA, both},
		{"json escapes in text", `vm:27:569 [6] NCCL INFO Channel 00/0 : 1[6] -\u003e 0[6] [receive] via NET/Libfabric/3/GDRDMA` + "\n" + usingEFA, both},
		{"carriage returns", " 3%|#\r 9%|##\r" + usingEFA + "\r\n" + edgeEFA + "\r\n", both},
		{"nul bytes", strings.Repeat("\x00", 100_000) + usingEFA + "\n\x00" + edgeEFA, both},
		{"invalid utf-8", "\xfe\xfd\xff " + usingEFA, justUsing},
		{"utf-8 mark", "\xef\xbb\xbf" + usingEFA + "\n" + edgeEFA, both},
		{"several in one line", usingEFA + " " + edgeEFA + " vm:27:569 [6] NCCL INFO Connected all rings", both},
		{"several with wrappers", "(W pid=27) " + usingEFA + " (W pid=27) " + edgeEFA + " (W pid=27) " + usingEFA, both},
		{"no thread", "vm:27 [6] NCCL INFO Using network Libfabric", justUsing},
		{"no host", " [0] NCCL INFO Using network Libfabric", []string{":0", "network Libfabric"}},
		{"no host, no device", "NCCL INFO Using network Libfabric", []string{":0", "network Libfabric"}},
		{"no host, time of day", "22:41:22 [0] NCCL INFO Using network Libfabric", []string{":0", "network Libfabric"}},
		{"no host, date", "2026-11-29T22:41:22 [0] NCCL INFO Using network Libfabric", []string{":0", "network Libfabric"}},
		{"no host, ray", "(W pid=27, ip=10.0.0.7) [0] NCCL INFO Using network Libfabric", []string{":27", "network Libfabric"}},

		{"cri", "2026-11-29T22:41:22.1Z stdout F " + usingEFA, justUsing},
		{"cri, cut", "2026-11-29T22:41:22.1Z stdout P " + usingEFA[:40] + "\n2026-11-29T22:41:22.1Z stderr F noise\n2026-11-29T22:41:22.1Z stdout F " + usingEFA[40:], justUsing},
		{"cri, cut within the marker", "2026-11-29T22:41:22.1Z stdout P " + usingEFA[:16] + "\n2026-11-29T22:41:22.1Z stdout P " + usingEFA[16:17] + "\n2026-11-29T22:41:22.1Z stdout F " + usingEFA[17:], justUsing},
		{"cri, cut streams", "2026-11-29T22:41:22.1Z stdout P " + usingEFA[:16] + "\n2026-11-29T22:41:22.1Z stderr P " + edgeEFA[:70] + "\n2026-11-29T22:41:22.1Z stdout F " + usingEFA[16:] + "\n2026-11-29T22:41:22.1Z stderr F " + edgeEFA[70:], both},
		{"cri, no end", "2026-11-29T22:41:22.1Z stdout P " + usingEFA, justUsing},
		{"cri around json", `2026-11-29T22:41:22.1Z stdout F {"level":"info","message":"` + usingEFA + `"}`, justUsing},
		{"docker", docker(usingEFA + "\n" + edgeEFA + "\n"), both},
		{"docker, cut", docker(strings.Repeat("x ", 8188) + usingEFA + "\n"), justUsing},
		{"fluent bit", `{"log":"` + usingEFA + `","stream":"stdout","kubernetes":{"pod_name":"train-0"}}`, justUsing},
		{"cloudwatch json", `{"time":"x","kubernetes":{"pod_name":"train-0"},"message":"` + usingEFA + `"}`, justUsing},
		{"any key, several lines", `{"a": 1, "payload" : "first\n` + usingEFA + `\n` + strings.ReplaceAll(edgeEFA, ">", `\u003e`) + `\n", "b": "\\"}`, both},
		{"array", `[{"message":"` + usingEFA + `"},{"message":"` + edgeEFA + `"}]`, both},
		{"json in json", `{"log":"{\"message\":\"` + usingEFA + `\"}\n","stream":"stdout"}`, justUsing},
		{"pretty json", `            "message": "` + usingEFA + `",`, justUsing},
		{"logfmt", `time=22:41 msg="` + usingEFA + `"`, justUsing},
		{"csv", `1732920082,"` + usingEFA + `"`, justUsing},
		{"utf-16", utf16Text(binary.LittleEndian, "\ufeff"+usingEFA+"\r\n"+edgeEFA+"\r\n"), both},
		{"utf-16, big end first", utf16Text(binary.BigEndian, "\ufeff"+usingEFA+"\n"+edgeEFA), both},
		{"utf-16 without a mark", utf16Text(binary.LittleEndian, usingEFA+"\r\n"+edgeEFA), both},
		{"utf-16, big, without a mark", utf16Text(binary.BigEndian, usingEFA+"\n"+edgeEFA), both},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := feed([]byte(tt.text))
			if diff := cmp.Diff(tt.want, facts(log)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.text, diff)
			}
			if log.Unparsed.Count != 0 || log.Cut.Count != 0 {
				t.Errorf("unparsed %+v, cut %+v", log.Unparsed, log.Cut)
			}
		})
	}
}

// docker writes text as Docker's json-file driver does: one object a line, long
// lines in pieces.
func docker(text string) string {
	const size = 16 << 10
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > 0 {
			piece := line[:min(len(line), size)]
			line = line[len(piece):]
			object, _ := json.Marshal(struct {
				Log    string `json:"log"`
				Stream string `json:"stream"`
				Time   string `json:"time"`
			}{piece, "stdout", "2026-11-29T22:41:22.123456789Z"})
			b.Write(append(object, '\n'))
		}
	}
	return b.String()
}

func utf16Text(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, c)
	}
	return string(b)
}

// TestProcessesApart: equal hosts and pids in one file are told apart by their
// wrappers, and one process is not taken for two because some lines lack them.
func TestProcessesApart(t *testing.T) {
	const line = "vm:1:2 [0] NCCL INFO Using network "
	tests := []struct {
		name, text string
		want       []string
		unparsed   int64
	}{
		{"ray", "(W pid=1, ip=10.0.0.1) " + line + "A\n(W pid=1, ip=10.0.0.2) " + line + "B\n(W pid=1) " + line + "C", []string{"vm:1", "network A", "vm:1", "network B", "vm:1", "network C"}, 0},
		{"kubectl", "[pod/a/w] " + line + "A\n[pod/b/w] " + line + "B\n[pod/a/w] " + line + "C", []string{"vm:1", "network A", "network C", "vm:1", "network B"}, 0},
		{"containers", "[pod/a/v] " + line + "A\n[pod/a/w] " + line + "B", []string{"vm:1", "network A", "vm:1", "network B"}, 0},
		{"mpirun", "[1,0]<stdout>:" + line + "A\n[1,1]<stdout>:" + line + "B\n[1,1]<stderr>:" + line + "C", []string{"vm:1", "network A", "vm:1", "network B", "network C"}, 0},
		{"srun", "0: " + line + "A\n1: " + line + "B", []string{"vm:1", "network A", "vm:1", "network B"}, 0},
		{"torchrun", "[default0]:" + line + "A\n[default1]:" + line + "B", []string{"vm:1", "network A", "vm:1", "network B"}, 0},
		{"pdsh", "n1: " + line + "A\nn2: " + line + "B", []string{"vm:1", "network A", "vm:1", "network B"}, 0},
		{"fluent bit", `{"log":"` + line + `A","kubernetes":{"pod_name":"a"}}` + "\n" + `{"log":"` + line + `B","kubernetes":{"pod_name":"b"}}`, []string{"vm:1", "network A", "vm:1", "network B"}, 0},
		{"devices without a host", "[0] NCCL INFO Using network A\n[1] NCCL INFO Using network B", []string{":0", "network A", ":0", "network B"}, 0},
		{"some lines bare", "[pod/a/w] " + line + "A\n" + line + "B\n[pod/a/w] " + line + "C", []string{"vm:1", "network A", "network B", "network C"}, 0},
		{"first lines bare", line + "A\n[pod/a/w] " + line + "B", []string{"vm:1", "network A", "network B"}, 0},
		{"bare lines of either", "[pod/a/w] " + line + "A\n[pod/b/w] " + line + "B\n" + line + "C", []string{"vm:1", "network A", "vm:1", "network B"}, 1},
		{"bare line before two", line + "A\n[pod/a/w] " + line + "B\n[pod/b/w] " + line + "C", []string{"vm:1", "network A", "network B", "vm:1", "network C"}, 1},
		{"log levels are no hosts", "INFO: " + line + "A\nWARNING: " + line + "B", []string{"vm:1", "network A", "network B"}, 0},
		{"time stamps are no hosts", "2026-11-29T22:41:22Z " + line + "A\n2026-11-29T22:41:23Z " + line + "B", []string{"vm:1", "network A", "network B"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := feed([]byte(tt.text))
			if diff := cmp.Diff(tt.want, facts(log)); diff != "" || log.Unparsed.Count != tt.unparsed {
				t.Errorf("%d unparsed, want %d, facts (-want +got):\n%s", log.Unparsed.Count, tt.unparsed, diff)
			}
		})
	}
}

// TestHalfLines: a record that was cut is lost and counted; it never becomes
// another one.
func TestHalfLines(t *testing.T) {
	const half = "a:1:1 [0] NCCL INFO Channel 00/0 : 1[6] -> 0[6] [receive] via NET/Libfabric/1"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"before a host", half + "b:2:2 [0] NCCL INFO Using network IB", []string{"1b:2", "network IB"}},
		{"before a known host", "b:2:2 [0] NCCL INFO Using network IB\n" + half + "b:2:2 [0] NCCL INFO Using network IB", []string{"b:2", "network IB"}},
		{"before a time stamp", half + "[2026-11-29 22:41:22] b:2:2 [0] NCCL INFO Using network IB", []string{"b:2", "network IB"}},
		{"before ray", half + "(W pid=2) b:2:2 [0] NCCL INFO Using network IB", []string{"b:2", "network IB"}},
		{"before the same process", half + "a:1:1 [0] NCCL INFO Using network IB", []string{"a:1", "network IB"}},
		{"at the end of the line", half[:len(half)-14] + "\n" + half[:20] + "Using network IB", []string{"a:1", "network IB"}},
		{"within the word channel", half[:23] + "\n" + half[:20] + "Using network IB", []string{"a:1", "network IB"}},
		{"within the marker", half[:17] + "\n" + half[:20] + "Using network IB", []string{"a:1", "network IB"}},
		{"at the end of ray's line", "(W pid=1) " + half[:len(half)-14] + "\n(W pid=1) /Libfabric/1\n(W pid=1) " + half[:20] + "Using network IB", []string{"a:1", "network IB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := feed([]byte(tt.text))
			if diff := cmp.Diff(tt.want, facts(log)); diff != "" || log.Unparsed.Count != 1 {
				t.Errorf("%d unparsed, want 1, facts (-want +got):\n%s", log.Unparsed.Count, diff)
			}
		})
	}
}
