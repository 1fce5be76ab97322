package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.Mappings;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A driver that knows what is mapped where, and refuses what the real one would. */
final class FakeDriver implements Mappings {
  static final long BASE = 1000;
  static final long PAGE = 10;

  final Map<Integer, Long> mapped = new TreeMap<>();
  final BitSet unzeroed = new BitSet();
  private final List<String> calls = new ArrayList<>();
  private int callsUntilFailure = Integer.MAX_VALUE;

  void failAfter(int calls) {
    callsUntilFailure = calls;
  }

  List<String> takeCalls() {
    List<String> taken = List.copyOf(calls);
    calls.clear();
    return taken;
  }

  @Override
  public void map(long address, long bytes, long handle) {
    count();
    assertEquals(PAGE, bytes);
    assertEquals(null, mapped.put(slot(address), handle));
    calls.add("map " + slot(address) + " " + handle);
  }

  @Override
  public void allowAccess(long address, long bytes) {
    count();
    for (long at = address; at < address + bytes; at += PAGE) {
      assertTrue(mapped.containsKey(slot(at)));
    }
    calls.add("allow " + slot(address) + "+" + bytes / PAGE);
  }

  @Override
  public void unmap(long address, long bytes) {
    assertEquals(PAGE, bytes);
    assertTrue(mapped.remove(slot(address)) != null);
    calls.add("unmap " + slot(address));
  }

  void zero(long address, long bytes) {
    count();
    assertEquals(PAGE, bytes);
    assertTrue(mapped.containsKey(slot(address)));
    unzeroed.clear(slot(address));
    calls.add("zero " + slot(address));
  }

  private void count() {
    if (callsUntilFailure-- == 0) {
      callsUntilFailure = Integer.MAX_VALUE;
      throw new IllegalStateException("as the test wants it");
    }
  }

  private static int slot(long address) {
    assertEquals(0, (address - BASE) % PAGE);
    return (int) ((address - BASE) / PAGE);
  }
}
