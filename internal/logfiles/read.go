package logfiles

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trainyard/trainyard/nccllog"
)

// Progress counts what has been read. The zero value is ready for use, by
// several goroutines.
type Progress struct{ files, bytes atomic.Int64 }

// Files counts the logs that have been read.
func (p *Progress) Files() int { return int(p.files.Load()) }

// Bytes counts what has been read so far, as it is stored.
func (p *Progress) Bytes() int64 { return p.bytes.Load() }

// Size is the number of bytes that the logs have, as they are stored; 0 for
// pipes.
func Size(logs []Log) (sum int64) {
	for _, log := range logs {
		sum += log.size()
	}
	return sum
}

// Read is a log that was read.
type Read struct {
	Log
	// Parsed is nil for files that hold no text.
	Parsed *nccllog.Log
	// Err says why the log was not read to its end, if it was not.
	Err error

	starts []int64 // lines before each piece
}

// Place finds the file and the line in it that a line of the log is.
func (r Read) Place(line int64) (path string, inFile int64) {
	if len(r.starts) == 0 {
		return r.Name, line
	}
	at, _ := slices.BinarySearch(r.starts, line)
	at = max(at-1, 0)
	return r.pieces[at].path, line - r.starts[at]
}

// ReadAll parses the logs, in their order, on all processors that there are.
// It holds one buffer and one open file a processor. What could not be read is
// in the Err of its log; the error is the context's. Then it returns at once,
// even where a file system or a pipe does not answer.
func ReadAll(ctx context.Context, logs []Log, progress *Progress) ([]Read, error) {
	results := make([]Read, len(logs))
	order := make([]int, len(logs))
	for i := range order {
		order[i] = i
	}
	// The largest first, so that none of them is left alone at the end.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logs[b].size(), logs[a].size()) })
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(logs), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			o := newOpener(progress)
			defer o.close()
			for ctx.Err() == nil {
				at := int(next.Add(1)) - 1
				if at >= len(order) {
					return
				}
				results[order[at]] = o.read(ctx, logs[order[at]])
				progress.files.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-done:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	placeDrivers(results)
	return results, nil
}

// read parses one log.
func (o *opener) read(ctx context.Context, log Log) Read {
	r := Read{Log: log}
	parser := nccllog.NewParser(log.Name)
	for i, p := range log.pieces {
		if i > 0 {
			r.starts = append(r.starts, parser.Log().Lines)
		} else if len(log.pieces) > 1 {
			r.starts = []int64{0}
		}
		if err := o.parse(ctx, p, parser, &r); err != nil {
			r.Err = errors.Join(r.Err, Problem{p.path, unwrapPath(err)})
		}
	}
	_ = parser.Close() // never fails
	r.finish(parser)
	return r
}

// finish decides what became of the log: a file of a folder that holds no text
// is passed over.
func (r *Read) finish(parser *nccllog.Parser) {
	if !r.Named && errors.Is(r.Err, ErrNotText) && parser.Log().Bytes == 0 {
		r.Err = nil
		return
	}
	r.Parsed = parser.Log()
	r.Truncated = r.Truncated || r.Err != nil
}

// parse feeds one file of a log to the parser. The files of one log do not share
// a line.
func (o *opener) parse(ctx context.Context, p piece, parser *nccllog.Parser, r *Read) error {
	text, end, err := o.open(ctx, p)
	if err != nil {
		return err
	}
	defer end()
	if r.ray.worker != "" && r.Job == "" {
		head, _ := text.Peek(headBytes) // what there is
		r.ray.job = jobInside(head)
		r.Job = r.ray.jobName()
	}
	ended := true
	for {
		n, err := text.Read(o.buffer)
		if n > 0 {
			_, _ = parser.Write(o.buffer[:n]) // never fails
			ended = o.buffer[n-1] == '\n'
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			if !ended && len(r.pieces) > 1 {
				_, _ = parser.Write([]byte{'\n'})
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// unwrapPath takes the path out of an error that will name it again.
func unwrapPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Jobs lists the names of the jobs that the places of the logs tell, in order;
// an empty one stands for NCCL's lines in logs of which no job is known.
func Jobs(logs []Read) []string {
	var jobs []string
	for _, log := range logs {
		if (log.Job != "" || !log.silent()) && !slices.Contains(jobs, log.Job) {
			jobs = append(jobs, log.Job)
		}
	}
	return jobs
}

// silent tells whether the log holds nothing that NCCL printed.
func (r Read) silent() bool {
	l := r.Parsed
	return l == nil || l.Info == 0 && l.Warn == 0 && !l.Banner.Seen()
}
