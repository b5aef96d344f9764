package kafka

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	log4j1File = "log4j.properties"
	log4j2File = "log4j2.yaml"
)

// shutdownHook: log4j's own hook runs beside Kafka's on SIGTERM, and would take away the log of an orderly end: the
// resignation of a leader and the votes that it still answers. Milliseconds since the epoch are the clock of captures and recordings. NetworkClient is silenced because it
// writes a WARN for each refused connection, and a dead controller is refused every 20 ms.
const log4j2Config = `Configuration:
  status: ERROR
  shutdownHook: disable
  Appenders:
    Console: {name: STDOUT, PatternLayout: {pattern: "%d{UNIX_MILLIS} %p %m (%c{1})%n"}}
  Loggers:
    Root: {level: "${sys:root.level:-INFO}", AppenderRef: [{ref: STDOUT}]}
    Logger:
      - {name: org.apache.kafka.raft, level: "${sys:raft.level:-INFO}"}
      - {name: org.apache.kafka.clients.NetworkClient, level: ERROR}
`

// log4j 1 has no pattern for milliseconds since the epoch; its ISO8601 is local time, and the JVM runs in UTC.
const log4j1Config = `log4j.rootLogger=${root.level}, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %p %m (%c{1})%n
log4j.logger.org.apache.kafka.raft=${raft.level}
log4j.logger.org.apache.kafka.clients.NetworkClient=ERROR
`

// WriteLogConfig puts what makes nodes log as this package reads it into a directory. Everybody can read it: in an image a
// node runs as another user, and log4j that cannot read its configuration says so once and logs nothing more.
func WriteLogConfig(dir string) error {
	for name, text := range map[string]string{log4j1File: log4j1Config, log4j2File: log4j2Config} {
		if err := writeFileAtomic(filepath.Join(dir, name), text); err != nil {
			return fmt.Errorf("log configuration: %w", err)
		}
	}
	return nil
}

// writeFileAtomic writes a file so that another process sees all of it or nothing. A file that already has
// this content is left alone.
func writeFileAtomic(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
