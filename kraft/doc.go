// Package kraft holds Kafka's KRaft consensus as a pure state machine: no goroutine, clock, randomness,
// I/O or logging. Time, random draws and the log belong to a driver.
package kraft
