package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// SnapshotWriter writes a snapshot of what is committed. It is used on the goroutine that made it: the bytes go to the disk beside the loop,
// which is asked only to begin the file and to list it.
type SnapshotWriter struct {
	node *Controller
	file *storage.SnapshotWriter
	id   kraft.SnapshotID
}

// CreateSnapshot begins a snapshot of all that lies before a committed position of the log. It is nil if there is one, or if the log begins
// behind it by now. Whoever made it must end it by Freeze or Abandon.
func (c *Controller) CreateSnapshot(ctx context.Context, id kraft.SnapshotID) (*SnapshotWriter, error) {
	type result struct {
		file *storage.SnapshotWriter
		err  error
	}
	made := make(chan result, 1)
	err := c.ask(ctx, func(l *loop) {
		file, _, err := l.log.CreateSnapshot(id)
		made <- result{file, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-made:
		if r.err != nil || r.file == nil {
			return nil, r.err
		}
		return &SnapshotWriter{c, r.file, id}, nil
	case <-c.done:
		return nil, ErrStopped
	}
}

// Write is io.Writer. An error leaves the node as it is.
func (w *SnapshotWriter) Write(b []byte) (int, error) { return w.file.Write(b) }

// Size is the number of bytes so far.
func (w *SnapshotWriter) Size() int64 { return w.file.Size() }

// Freeze makes the snapshot durable and lists it: from then on followers may be given it, and the log before it may go.
func (w *SnapshotWriter) Freeze(ctx context.Context) error {
	if err := w.file.Sync(); err != nil {
		return errors.Join(err, w.Abandon(ctx))
	}
	return w.end(ctx, func(l *loop) error {
		err := w.file.Freeze()
		switch {
		case err == nil:
			l.snapshotCovers(w.id)
			l.cfg.Log.Info().Msgf("Successfully wrote snapshot %s of %d bytes", w.id, w.file.Size()) // as Kafka says it
		case !errors.Is(err, storage.ErrSuperseded):
			l.end(fmt.Errorf("freeze snapshot %v: %w", w.id, err)) // what the disk holds is not known
		}
		return err
	})
}

// Abandon removes what has been written.
func (w *SnapshotWriter) Abandon(ctx context.Context) error {
	return w.end(ctx, func(*loop) error { return w.file.Abandon() })
}

// end has the loop end the file. If it has ended itself, the file is closed and the next start removes it.
func (w *SnapshotWriter) end(ctx context.Context, f func(*loop) error) error {
	result := make(chan error, 1)
	if err := w.node.ask(context.WithoutCancel(ctx), func(l *loop) { result <- f(l) }); err != nil {
		return errors.Join(err, w.file.Leave())
	}
	select {
	case err := <-result:
		return err
	case <-w.node.done:
	}
	select {
	case err := <-result:
		return err
	default: // the loop is gone and has not come to it
		return errors.Join(ErrStopped, w.file.Leave())
	}
}
