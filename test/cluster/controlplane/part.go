package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	startTimeout   = 2 * time.Minute // for one part to be healthy, also on a busy machine
	healthInterval = 50 * time.Millisecond
	tailBytes      = 2000 // of a log, in errors
)

// A part is one process of the cluster. It may be stopped and started again.
type part struct {
	name   string
	argv   []string
	env    []string // beside the program's own
	health string   // URL that answers 200 once the part works
	log    string   // file that everything it prints is added to
	spawn  func(*exec.Cmd) error
	died   func(error) // called when it ends though nobody stopped it

	// settle does what else there is to do once a part, begun at a time, is
	// healthy; it may be nil.
	settle func(ctx context.Context, began time.Time) error

	mu      sync.Mutex // held while starting and stopping
	running *running
}

// running is one life of a part.
type running struct {
	cmd     *exec.Cmd
	began   time.Time
	stopped chan struct{} // closed before it is killed on purpose
	ended   chan struct{} // closed when it has ended and been waited for
}

// start starts the part unless it runs, wakes it if it is frozen, and returns
// when it is healthy.
func (p *part) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil { // it may be too late for anyone to stop it
		return context.Cause(ctx)
	}
	if !p.running.alive() {
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", p.name, err)
		}
	}
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := p.untilHealthy(ctx)
	if err == nil && p.settle != nil {
		err = p.settle(ctx, p.running.began)
	}
	if err != nil {
		return fmt.Errorf("starting %s: %w; the end of its log:\n%s", p.name, err, p.tail())
	}
	return nil
}

// stop kills the part, if it runs, and returns when it has ended. There is no
// gentle way: what tests want to see is a crash, and nothing is worth saving.
func (p *part) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running.alive() {
		return
	}
	close(p.running.stopped)
	_ = p.running.cmd.Process.Kill()
	<-p.running.ended
}

// freeze stops the part as a program that hangs: what it has started elsewhere,
// such as the containers of a node, goes on.
func (p *part) freeze() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running.alive() {
		return fmt.Errorf("freezing %s: it does not run", p.name)
	}
	return p.signal(syscall.SIGSTOP)
}

// signal sends a signal to the process group of a part that runs.
func (p *part) signal(s syscall.Signal) error {
	if err := syscall.Kill(-p.running.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to %s: %w", s, p.name, err)
	}
	return nil
}

func (p *part) run(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	// Its life is not that of the call that starts it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.argv[0], p.argv[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.spawn(cmd); err != nil {
		return err
	}
	r := &running{cmd: cmd, began: time.Now(), stopped: make(chan struct{}), ended: make(chan struct{})}
	p.running = r
	go func() {
		err := cmd.Wait()
		close(r.ended)
		select {
		case <-r.stopped:
		default:
			p.died(fmt.Errorf("%s ended by itself: %w", p.name, orNil(err)))
		}
	}()
	return nil
}

func (r *running) alive() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// orNil makes an error of a process that ended well, too.
func orNil(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

func (p *part) untilHealthy(ctx context.Context) error {
	last := errors.New("not asked yet")
	err := wait.PollUntilContextCancel(ctx, healthInterval, true, func(ctx context.Context) (bool, error) {
		if !p.running.alive() {
			return false, errors.New("it ended")
		}
		last = healthy(ctx, p.health)
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	}
	return err
}

// probe asks for health. The certificates of parts are their own, the addresses
// are ours, and nothing is sent: there is nothing to protect.
var probe = &http.Client{
	Timeout: 5 * time.Second,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	},
}

func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := probe.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, tailBytes))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// tail returns the end of the log.
func (p *part) tail() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-tailBytes):])
}
