package pact_test

const schedules = 500
