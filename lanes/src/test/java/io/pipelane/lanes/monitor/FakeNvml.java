package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** A library with NVML's functions for GPM metrics, which answers what a test says. */
final class FakeNvml {
  private static final FunctionDescriptor OF_ONE = FunctionDescriptor.of(JAVA_INT, ADDRESS);
  private static final FunctionDescriptor OF_TWO =
      FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);

  private final Arena arena;
  private final Map<String, MemorySegment> functions = new HashMap<>();

  FakeNvml(Arena arena) {
    this.arena = arena;
    functions.put(
        "nvmlGpmQueryDeviceSupport",
        function(OF_TWO, (_, support) -> support.reinterpret(8).set(JAVA_INT, 4, 1)));
    functions.put("nvmlGpmSampleGet", function(OF_TWO, (_, _) -> {}));
    answer("nvmlGpmSampleAlloc", pointer -> pointer.reinterpret(8).set(ADDRESS, 0, pointer));
    answer("nvmlGpmSampleFree", _ -> {});
  }

  /** Says what a function of one pointer does; it succeeds. */
  void answer(String function, Consumer<MemorySegment> does) {
    functions.put(function, function(OF_ONE, (only, _) -> does.accept(only)));
  }

  /** The library, loaded. */
  Nvml nvml() {
    return new Nvml(name -> Optional.ofNullable(functions.get(name)));
  }

  /** What a function does with its arguments, the second of which may be none. */
  interface Body {
    void run(MemorySegment first, MemorySegment second);
  }

  record Called(Body body) {
    int ofOne(MemorySegment only) {
      return ofTwo(only, MemorySegment.NULL);
    }

    int ofTwo(MemorySegment first, MemorySegment second) {
      body.run(first, second);
      return Nvml.SUCCESS;
    }
  }

  private MemorySegment function(FunctionDescriptor descriptor, Body body) {
    boolean isOfOne = descriptor.equals(OF_ONE);
    MethodType type = descriptor.toMethodType();
    try {
      return Linker.nativeLinker()
          .upcallStub(
              MethodHandles.lookup().bind(new Called(body), isOfOne ? "ofOne" : "ofTwo", type),
              descriptor,
              arena);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("a function of the fake library", e);
    }
  }
}
