package io.pipelane.demo.report;

/** One line of the ledger: who holds how many bytes of device memory. */
public record LedgerRow(String name, long bytes) {}
