package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperRole makes the test binary a worker for the tests of the pool.
const helperRole = "WORKERPOOL_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperRole); role != "" {
		help(role)
		return
	}
	goleak.VerifyTestMain(m)
}

func help(role string) {
	out := newReporter(os.Stdout)
	out.send(report{Epoch: 1, Session: 7, Timeout: 1})
	if role == "quits" {
		return
	}
	fmt.Println("{\"epoch\":1,") // a line that is cut off
	_, _ = io.Copy(io.Discard, os.Stdin)
	if role == "deaf" {
		select {}
	}
	out.send(report{Refused: &refusal{Batch: 3, Token: 9}})
}
