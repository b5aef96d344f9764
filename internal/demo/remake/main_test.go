package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/recordings"
)

const capture = "../../../recordings/testdata/captures/440-dynamic-start-kill"

// The embedded recording must stay what the command makes of the capture: real traffic, nothing added or left out.
func TestRecording_IsTheCapture(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh.pcapng.zst")
	if err := remake(capture, fresh); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fresh)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := recordings.NewReader(f, fresh)
	if err != nil {
		t.Fatal(err)
	}
	got, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		var a, b recordings.Observation
		errWant, errGot := want.Next(&a), got.Next(&b)
		if errors.Is(errWant, io.EOF) && errors.Is(errGot, io.EOF) {
			if n < 700 {
				t.Errorf("only %d observations", n)
			}
			break
		}
		if errWant != nil || errGot != nil {
			t.Fatalf("observation %d: %v and %v", n, errWant, errGot)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("observation %d is\n%+v, the capture has\n%+v", n, b, a)
		}
	}
	if !reflect.DeepEqual(got.Info().Config, want.Info().Config) || !reflect.DeepEqual(got.Info().Upstreams, want.Info().Upstreams) {
		t.Errorf("header %+v, want %+v", got.Info(), want.Info())
	}
}

func TestConvert_RefusesAListenerThatNobodyKnows(t *testing.T) {
	r, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := convert(r, &bytes.Buffer{}, nil, nil); err == nil {
		t.Error("no error")
	}
}
