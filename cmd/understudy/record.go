package main

import "github.com/spf13/cobra"

func newRecordCommand() *cobra.Command {
	o := &proxyOptions{}
	cmd := &cobra.Command{
		Use:   "record --upstream NODE=HOST:PORT=LISTEN ...",
		Short: "Relay and record the traffic of a controller quorum, without checking it",
		Long: `record is proxy without the checker: it listens for each controller, passes every byte on unchanged and
records every frame. Check the recording later with understudy check.`,
		Example: `  understudy record --upstream 1=127.0.0.1:19091=127.0.0.1:9091 --record quorum
  understudy record --config quorum.yaml --include-records --durability interval`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd)
	return cmd
}
