package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainyard/trainyard/bench/ranklog"
)

const gpusPerNode = ranklog.GPUs

// kind is one kind of log: line returns the line number i, without its end.
type kind struct {
	name string
	line func(i int) string
}

var kinds = []kind{
	{"a  training log, few NCCL lines", training},
	{"b  NCCL INFO only", info},
	{"c  mixed-network storm", storm},
	{"d  docker JSON of b", docker(info)},
	{"d' docker JSON of a", docker(training)},
	{"e  b in Ray's driver log, coloured", ray(info)},
}

// generate writes a log of about the size; lines repeat after a few megabytes.
// It keeps nothing in memory: what a program's parent holds counts as its own.
func generate(path string, k kind, size int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	var unit int64
	for i := 0; unit < 16<<20; i++ {
		n, err := w.WriteString(k.line(i) + "\n")
		if err != nil {
			return 0, err
		}
		unit += int64(n)
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	written := unit
	for written < size {
		n, err := io.Copy(f, io.NewSectionReader(f, 0, unit))
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, f.Close()
}

// training is what a training program prints: metrics, progress bars, logging,
// and NCCL's lines while its communicator is initialised.
func training(i int) string {
	if i < 200 {
		return info(i)
	}
	step := i / 8
	switch i % 8 {
	case 0, 4:
		return fmt.Sprintf(`{"step": %d, "loss": %.4f, "grad_norm": %.3f, "tokens_per_s": %d, "lr": 3e-05, "epoch": %.2f}`,
			step, 2+float64(i%97)/100, float64(i%31)/10, 18000+i%811, float64(step)/4096)
	case 1:
		return fmt.Sprintf("2026-11-29 22:41:%02d,%03d INFO trainer.py:%d -- step %d of 40960 done in %d ms", i%60, i%1000, 100+i%9, step, 800+i%57)
	case 2:
		return fmt.Sprintf("\r %d%%|%-40s| %d/40960 [%02d:%02d<12:03:11,  1.21it/s]", step%100, strings.Repeat("█", step%40), step, i/60%60, i%60)
	case 3:
		return "\x1b[36m(RayTrainWorker pid=3360, ip=10.0.0.7)\x1b[0m Reporting training result: TrainingReport(checkpoint=None, validation=False)"
	case 5:
		return fmt.Sprintf("  File \"/usr/lib/python3/dist-packages/torch/nn/modules/module.py\", line %d, in _call_impl", 1500+i%20)
	case 6:
		return fmt.Sprintf("[rank%d]: UserWarning: Grad strides do not match bucket view strides (%d, %d)", i%8, i%1024, i%512)
	}
	return fmt.Sprintf("INFO:root:GPU %d memory allocated %.2f GiB, reserved %.2f GiB, Now at shard %d", i%8, 31.5, 38.25, i)
}

// info is NCCL's output of eight ranks in one file, line by line.
func info(i int) string {
	rank, n := i%gpusPerNode, i/gpusPerNode
	lines := rankLines(rank)
	return lines[n%len(lines)]
}

// storm is what the ranks on Socket print where others use another network.
func storm(i int) string {
	if i < 400 {
		return info(i)
	}
	return fmt.Sprintf("node-0:7375:7820 [1] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 10.0.0.7<%d>", 1024+i%60000)
}

// ray wraps lines as Ray's driver log does.
func ray(line func(int) string) func(int) string {
	return func(i int) string {
		return fmt.Sprintf("\x1b[36m(RayTrainWorker pid=%d, ip=10.0.0.7)\x1b[0m %s", 100+i%gpusPerNode, line(i))
	}
}

// docker wraps lines as Docker's json-file driver does.
func docker(line func(int) string) func(int) string {
	return func(i int) string {
		text, _ := json.Marshal(line(i) + "\n")
		return fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"2026-11-29T22:41:22.%09dZ"}`, text, i)
	}
}

var rankCache = map[int][]string{}

// rankLines returns NCCL's lines of one of the first ranks of a job of 64.
func rankLines(rank int) []string {
	if rankCache[rank] == nil {
		rankCache[rank] = ranklog.Lines(rank, 64)
	}
	return rankCache[rank]
}

// jobBytes is about what each rank of the job prints.
const jobBytes = 500 << 10

// generateJob writes one file a rank: NCCL's lines, then the training's.
func generateJob(dir string, ranks int) (int64, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	var rest strings.Builder
	for i := 200; rest.Len() < jobBytes; i++ {
		rest.WriteString(training(i) + "\n")
	}
	var size int64
	for rank := range ranks {
		n, err := writeRank(filepath.Join(dir, fmt.Sprintf("rank-%04d.out", rank)), ranklog.Lines(rank, ranks), rest.String())
		if err != nil {
			return size, err
		}
		size += n
	}
	return size, nil
}

func writeRank(path string, lines []string, rest string) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	size := 0
	for _, text := range append(lines, rest) {
		n, _ := w.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		size += n
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return int64(size), f.Close()
}
