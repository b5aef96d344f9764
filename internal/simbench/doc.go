// Package simbench measures the simulator beside another raft library. It holds a benchmark only, so that no binary links that library.
package simbench
