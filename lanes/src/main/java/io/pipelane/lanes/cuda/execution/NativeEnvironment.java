package io.pipelane.lanes.cuda.execution;

import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;

/** The process's environment as native libraries see it; Java's own view of it never changes. */
final class NativeEnvironment {
  private static final int LEAVE_WHAT_IS_SET = 0;

  private NativeEnvironment() {}

  /**
   * Sets a variable that is not set; before other threads begin to load libraries, which may read
   * the environment meanwhile.
   */
  static void setIfAbsent(String name, String value) {
    try (Arena arena = Arena.ofConfined()) {
      long key = arena.allocateFrom(name).address();
      long text = arena.allocateFrom(value).address();
      if ((int) NativeFunction.of("setenv").call(key, text, LEAVE_WHAT_IS_SET) != 0) {
        throw new IllegalStateException("the environment variable " + name + " cannot be set");
      }
    }
  }
}
