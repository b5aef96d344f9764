package conform

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// Column is one target of a matrix.
type Column struct {
	Name   string
	Report *Report
}

// matrixRow is one rule with its outcome at each target: over the versions of its api, the worst counts.
type matrixRow struct {
	Group, Name, Says, Level string
	Cells                    []string
}

// rows joins the cases of an api's versions: "vote/v0/x" and "vote/v1/x" are one row.
// Cases have a row even if nobody was asked.
func rows(columns []Column, cases []Case) []matrixRow {
	var list []matrixRow
	at := map[string]int{}
	row := func(c *Case) *matrixRow {
		id := withoutVersion(c.ID)
		n, ok := at[id]
		if !ok {
			n = len(list)
			at[id] = n
			level := string(c.Level)
			if c.Rule != "" {
				level += " (" + c.Rule + ")"
			}
			list = append(list, matrixRow{c.group(), id, c.Says, level, make([]string, len(columns))})
		}
		return &list[n]
	}
	for i := range cases {
		row(&cases[i])
	}
	for c := range columns {
		results := columns[c].Report.Results
		for i := range results {
			cell := &row(results[i].Case).Cells[c]
			*cell = worse(*cell, string(results[i].Outcome))
		}
	}
	if len(cases) > 0 {
		withoutRule(list, columns)
	}
	slices.SortStableFunc(list, func(a, b matrixRow) int { return strings.Compare(a.Group, b.Group) })
	return list
}

// withoutRule fills the cells of rules that a target's release does not have.
func withoutRule(list []matrixRow, columns []Column) {
	for c := range columns {
		if columns[c].Report.Target == nil {
			continue
		}
		has := map[string]bool{}
		for _, x := range Catalogue(columns[c].Report.Target.Profile) {
			has[withoutVersion(x.ID)] = true
		}
		for i := range list {
			if !has[list[i].Name] {
				list[i].Cells[c] = worse(list[i].Cells[c], noRule)
			}
		}
	}
}

// withoutVersion leaves the version out of a case's id.
func withoutVersion(id string) string {
	parts := strings.Split(id, "/")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool {
		return len(p) > 1 && p[0] == 'v' && strings.Trim(p[1:], "0123456789") == ""
	}), "/")
}

// severity orders outcomes: what a row shows is the greatest of its versions.
var severity = []string{"", noRule, string(Skipped), string(Passed), string(Known), string(Inconclusive), string(Failed)}

func worse(a, b string) string {
	if slices.Index(severity, a) > slices.Index(severity, b) {
		return a
	}
	return b
}

// noRule is the cell of a rule that the target's release does not have.
const noRule = "none"

// marks are the cells of a matrix in text.
var marks = map[string]string{"": "", noRule: "·", string(Skipped): "–", string(Passed): "✓", string(Known): "†", string(Inconclusive): "?", string(Failed): "✗"}

// WriteMarkdown writes the matrix of rules and targets as a Markdown table.
func WriteMarkdown(w io.Writer, columns []Column) error { return writeRows(w, columns, nil) }

// writeRows is WriteMarkdown with a row for each of the cases.
func writeRows(w io.Writer, columns []Column, cases []Case) error {
	var b strings.Builder
	b.WriteString("| rule | level |")
	for i := range columns {
		fmt.Fprintf(&b, " %s |", columns[i].Name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n| **cases: passed / asked** | |")
	for i := range columns {
		r := columns[i].Report
		fmt.Fprintf(&b, " %d / %d |", r.Count(Passed), len(r.Results)-r.Count(Skipped)-r.Count(Known))
	}
	b.WriteByte('\n')
	for _, row := range rows(columns, cases) {
		fmt.Fprintf(&b, "| `%s` %s | %s |", row.Name, row.Says, row.Level)
		for _, cell := range row.Cells {
			fmt.Fprintf(&b, " %s |", marks[cell])
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var page = template.Must(template.New("matrix").Parse(`<!doctype html>
<meta charset="utf-8"><title>KRaft conformance</title>
<style>
body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse}th,td{border-bottom:1px solid #ddd;padding:.25em .6em;text-align:left}
thead th{position:sticky;top:0;background:#fff}td.pass{background:#e3f4e3}td.fail{background:#f7c6c6;font-weight:bold}
td.inconclusive,td.known{background:#fbeec2}td.skip,td.{color:#999}code{font-size:13px}small{color:#666}
@media(prefers-color-scheme:dark){body,thead th{background:#1b1b1b;color:#ddd}td.pass{background:#1e3a1e}td.fail{background:#6b1f1f}td.inconclusive,td.known{background:#5a4a14}}
</style>
<h1>KRaft conformance</h1>
<table><thead><tr><th>rule<th>level{{range .Columns}}<th>{{.Name}}<br><small>{{.Report.Summary}}</small>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr><td><code>{{.Name}}</code><br><small>{{.Says}}</small><td>{{.Level}}{{range .Cells}}<td class="{{.}}">{{.}}{{end}}</tr>
{{end}}</tbody></table>
`))

// WriteHTML writes the matrix of rules and targets as a page of its own.
func WriteHTML(w io.Writer, columns []Column) error {
	return page.Execute(w, map[string]any{"Columns": columns, "Rows": rows(columns, nil)})
}
