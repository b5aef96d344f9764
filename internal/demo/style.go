package demo

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colours text, or leaves it as it is.
type Style struct{ on bool }

// StyleFor colours what goes to a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb.
func StyleFor(out io.Writer) Style {
	f, ok := out.(*os.File)
	return Style{ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Title is for the line that announces an act.
func (s Style) Title(text string) string { return s.paint("1", text) }

// Good is for what went well.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Bad is for what is wrong.
func (s Style) Bad(text string) string { return s.paint("1;31", text) }

// Notable is for what decides something.
func (s Style) Notable(text string) string { return s.paint("1;36", text) }

// Warm is for a refusal.
func (s Style) Warm(text string) string { return s.paint("33", text) }

// Faint is for what matters less.
func (s Style) Faint(text string) string { return s.paint("2", text) }
