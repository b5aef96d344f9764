package container

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/containerd/errdefs"
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

// process is a container that has been started. It ends once: a node that is started again has a new container.
type process struct {
	client client.APIClient
	id     string
	pid    int
	done   chan struct{}

	// once done is closed
	code int64
	err  error // what kept us from following it to its end
}

// Pid is the process id as this machine sees it.
func (p *process) Pid() int { return p.pid }

// Done implements [kafka.Process].
func (p *process) Done() <-chan struct{} { return p.done }

// Ended implements [kafka.Process].
func (p *process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit implements [kafka.Process].
func (p *process) Exit() string {
	if p.err != nil {
		return p.err.Error()
	}
	return fmt.Sprintf("exit status %d of the container", p.code)
}

// Signal implements [kafka.Process]: the engine hands it to the first process of the container. One that has ended
// already is no error.
func (p *process) Signal(sig syscall.Signal) error {
	if p.Ended() {
		return nil
	}
	_, err := p.client.ContainerKill(context.Background(), p.id, client.ContainerKillOptions{Signal: unix.SignalName(sig)})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // gone, or not running any more
		return nil
	}
	return fmt.Errorf("signal %v to container %.12s: %w", sig, p.id, err)
}

// Kill implements [kafka.Process].
func (p *process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Stop implements [kafka.Process].
func (p *process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("container %.12s did not end on SIGTERM: %w", p.id, ctx.Err()), p.Kill())
	}
}

// wait learns how the container ended.
func (p *process) wait() {
	result := p.client.ContainerWait(context.Background(), p.id, client.ContainerWaitOptions{Condition: dockercontainer.WaitConditionNotRunning})
	select {
	case r := <-result.Result:
		p.code = r.StatusCode
		if r.Error != nil {
			p.err = errors.Join(p.err, errors.New(r.Error.Message))
		}
	case err := <-result.Error:
		p.err = errors.Join(p.err, err)
	}
}

func (p *process) remove() error {
	_, err := p.client.ContainerRemove(context.Background(), p.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
