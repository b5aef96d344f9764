package shadow

import "testing"

func TestLogInOrder_Disorder(t *testing.T) {
	tests := []struct {
		name    string
		batches [][]byte
	}{
		{"a gap between batches", [][]byte{data(10, 5, "a"), data(12, 5, "b")}},
		{"batches overlap", [][]byte{data(10, 5, "a", "b"), data(11, 5, "c")}},
		{"the epoch falls", [][]byte{data(10, 5, "a"), data(11, 4, "b")}},
		{"an epoch later than the leader's", [][]byte{data(10, 6, "a")}},
		{"begins behind the offset asked for", [][]byte{data(11, 5, "a")}},
		{"ends before it", [][]byte{data(8, 5, "a")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.ask(2, 1, fetch(5, 10, 5)).answer(served(5, 9, tt.batches...))
			for _, f := range s.finish().Findings {
				if f.Rule == "M7" && f.Node == 1 {
					return
				}
			}
			t.Fatal(s.text())
		})
	}
}

func TestLogInOrder_Order(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 11, 4)).answer(served(5, -1, data(10, 4, "a", "b"), leaderChange(12, 5, 1, nodes(1, 2, 3), nodes(1, 2)), data(13, 5, "c", "d")))
	s.harmless()
}
