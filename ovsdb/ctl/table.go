package ctl

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"
)

// A Style is how tables are printed.
type Style struct {
	Layout     string // "list" (the default), "table", "csv", "json" or "html"
	Cells      Format
	NoHeadings bool
	Pretty     bool // JSON with indentation
}

// ParseStyle reads the two names that command lines give: a layout, and the
// format of cells ("string", "bare" or "json").
func ParseStyle(layout, cells string) (Style, error) {
	s := Style{Layout: layout}
	switch layout {
	case "":
		s.Layout = "list"
	case "list", "table", "csv", "json", "html":
	default:
		return s, fmt.Errorf("unknown output format %q (use list, table, csv, json or html)", layout)
	}
	switch cells {
	case "", "string":
	case "bare":
		s.Cells = FormatBare
	case "json":
		s.Cells = FormatJSON
	default:
		return s, fmt.Errorf("unknown data format %q (use string, bare or json)", cells)
	}
	return s, nil
}

// A cell is a datum with its type, so that it can be formatted.
type cell struct {
	value Datum
	t     columnType
}

// print writes a table. Where another was written before, it is set off.
func (s Style) print(out io.Writer, headings []string, rows [][]cell, first bool) {
	if s.Layout == "json" {
		s.printJSON(out, headings, rows)
		return
	}
	if !first {
		fmt.Fprintln(out)
	}
	text := make([][]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			text[i] = append(text[i], c.value.format(c.t, s.Cells))
		}
	}
	switch s.Layout {
	case "table":
		s.printAligned(out, headings, text)
	case "csv":
		w := csv.NewWriter(out)
		if !s.NoHeadings {
			w.Write(headings)
		}
		w.WriteAll(text)
	case "html":
		s.printHTML(out, headings, text)
	default:
		for i, row := range text {
			if i > 0 {
				fmt.Fprintln(out)
			}
			for j, c := range row {
				if !s.NoHeadings {
					fmt.Fprintf(out, "%-20s: ", headings[j])
				}
				fmt.Fprintln(out, c)
			}
		}
	}
}

func (s Style) printAligned(out io.Writer, headings []string, rows [][]string) {
	lines := rows
	widths := make([]int, len(headings))
	if !s.NoHeadings {
		lines = append([][]string{headings}, rows...)
	}
	for _, line := range lines {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	write := func(line []string) {
		var b strings.Builder
		for i, c := range line {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(c)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	for i, line := range lines {
		write(line)
		if i == 0 && !s.NoHeadings {
			rule := make([]string, len(widths))
			for j, w := range widths {
				rule[j] = strings.Repeat("-", w)
			}
			write(rule)
		}
	}
}

func (s Style) printHTML(out io.Writer, headings []string, rows [][]string) {
	fmt.Fprintln(out, "<table border=1>")
	write := func(tag string, line []string) {
		fmt.Fprintln(out, "  <tr>")
		for _, c := range line {
			fmt.Fprintf(out, "    <%s>%s</%s>\n", tag, html.EscapeString(c), tag)
		}
		fmt.Fprintln(out, "  </tr>")
	}
	if !s.NoHeadings {
		write("th", headings)
	}
	for _, row := range rows {
		write("td", row)
	}
	fmt.Fprintln(out, "</table>")
}

func (s Style) printJSON(out io.Writer, headings []string, rows [][]cell) {
	newline, indent, colon := "", func(int) string { return "" }, ":"
	if s.Pretty {
		newline, colon = "\n", ": "
		indent = func(n int) string { return strings.Repeat("  ", n) }
	}
	list := func(depth int, elements []string) string {
		if len(elements) == 0 {
			return "[]"
		}
		return "[" + newline + indent(depth+1) + strings.Join(elements, ","+newline+indent(depth+1)) + "]"
	}
	quoted := make([]string, len(headings))
	for i, h := range headings {
		quoted[i] = quoteJSON(h)
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = c.value.json(c.t)
		}
		lines[i] = list(2, cells)
	}
	fmt.Fprintf(out, "{%s%s\"data\"%s%s,%s%s\"headings\"%s%s}\n",
		newline, indent(1), colon, list(1, lines), newline, indent(1), colon, list(1, quoted))
}
