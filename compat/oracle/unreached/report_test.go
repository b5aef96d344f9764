package main

import (
	"strings"
	"testing"
)

const sample = `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd"><report name="r">
<package name="org/apache/kafka/raft">
<class name="org/apache/kafka/raft/Used" sourcefilename="Used.java">
<method name="lambda$half$0" line="11"><counter type="BRANCH" missed="0" covered="2"/><counter type="METHOD" missed="0" covered="1"/></method>
<method name="half" line="10"><counter type="BRANCH" missed="1" covered="3"/><counter type="METHOD" missed="0" covered="1"/></method>
<method name="never" line="20"><counter type="BRANCH" missed="2" covered="0"/><counter type="METHOD" missed="1" covered="0"/></method>
<method name="whole" line="30"><counter type="BRANCH" missed="0" covered="2"/><counter type="METHOD" missed="0" covered="1"/></method>
<counter type="BRANCH" missed="3" covered="5"/><counter type="METHOD" missed="1" covered="2"/></class>
<class name="org/apache/kafka/raft/Unused" sourcefilename="Unused.java">
<counter type="BRANCH" missed="9" covered="0"/><counter type="METHOD" missed="3" covered="0"/></class>
<sourcefile name="Used.java"><line nr="11" mi="0" ci="4" mb="0" cb="2"/><line nr="12" mi="2" ci="4" mb="1" cb="1"/>
<line nr="21" mi="9" ci="0" mb="2" cb="0"/><line nr="31" mi="0" ci="4" mb="0" cb="2"/></sourcefile>
</package></report>`

func TestReport_NamesTheLinesThatWereNotReached(t *testing.T) {
	r, err := parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `Used: 3 of 8 branches
	half: 12 (1 of 2)
	never (line 20): never called
3 of 8 branches of the classes in use were not taken
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
