package io.pipelane.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** What calls of C functions leave in {@code errno}, for one thread at a time. */
public final class CallError {
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  /** Calls a function and writes this down. */
  static final MethodHandle CALL = NativeFunction.linkWithErrno();

  private final MemorySegment state;

  /** Of calls that are made before the arena ends. */
  public CallError(Arena arena) {
    state = arena.allocate(STATE);
  }

  MemorySegment state() {
    return state;
  }

  /** The error's number, of a call that has failed. */
  public int number() {
    return (int) ERRNO.get(state, 0L);
  }
}
