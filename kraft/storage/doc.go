// Package storage keeps Kafka's own files: the metadata log with its segments, indexes and snapshots, the epochs, the
// election state and the identity of a data directory. A directory that it wrote is one that Kafka starts on, and the other way round.
//
// The parts, by the file they keep:
//
//	meta.properties, .lock                    Directory, Meta
//	__cluster_metadata-0/*.log, *.index, …    Log
//	…/OFFSET-EPOCH.checkpoint                 Log.CreateSnapshot, Log.Execute
//	…/quorum-state                            Log.Persist, ReadQuorumState
//	…/leader-epoch-checkpoint                 within Log
//	bootstrap.checkpoint, 0-0.checkpoint      AppendSnapshot makes their bytes
//
// A driver opens a directory, makes a machine of what it found, and lets the log execute what the machine decides:
//
//	dir, err := storage.OpenDirectory(storage.OS(), path, storage.Identity{NodeID: 1})
//	log, err := dir.OpenLog(storage.Options{})
//	cfg.History, err = log.History()
//	cfg.Stored, cfg.HasStored = log.Stored()
//	...
//	for _, a := range m.OnEvent(ev, log.View(), clock, &actions) {
//		handled, err := log.Execute(a, &payload)   // an error ends the node
//	}
//
// # What is durable when
//
// Flush, Persist, AssignEpoch, TruncateTo and the installation of a snapshot return only when a crash of the machine cannot undo
// them: a file is synced before it is renamed to its name, a directory is synced after it changed. Appended batches may be lost
// until Flush. What a crash leaves is always a prefix of whole batches that ends at or behind the last Flush.
//
// # Failures
//
// A write or sync that fails, or does less than it should, ends the log: the error says which file and why, and every later change
// is refused with it. Nothing is tried again: after a failed fsync the kernel may have dropped the data and report success.
//
// A Log and a Directory have one owner; they know no clock but the times that the caller gives, and start no goroutine.
package storage
