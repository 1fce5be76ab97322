package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * NVIDIA's management library, by its C functions: the driver's own figures. Safe for any thread;
 * the process makes one call at a time, as the library has been seen to write where nothing is when
 * two monitors of one GPU ask at once.
 */
final class Nvml {
  static final int SUCCESS = 0;
  private static final String LIBRARY = "libnvidia-ml.so.1";

  private static final Object LIBRARY_LOCK = new Object();

  private final SymbolLookup symbols;
  private final Map<String, Optional<MethodHandle>> functions = new ConcurrentHashMap<>();

  /** A library that has been loaded and initialised. */
  Nvml(SymbolLookup symbols) {
    this.symbols = symbols;
  }

  /**
   * Loads and initialises the library, for the life of the process.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} saying why there is none
   */
  static Nvml load() {
    return load(LIBRARY);
  }

  static Nvml load(String library) {
    Nvml nvml;
    try {
      nvml = new Nvml(SymbolLookup.libraryLookup(library, Arena.global()));
    } catch (IllegalArgumentException e) {
      throw new StatusException(Status.UNAVAILABLE, "no NVML: " + library + " cannot be loaded", e);
    }
    int result = nvml.call("nvmlInit_v2");
    if (result != SUCCESS) {
      throw new StatusException(Status.UNAVAILABLE, "no NVML: nvmlInit_v2 answered " + result);
    }
    return nvml;
  }

  /** Whether the library has a function; older drivers lack some. */
  boolean has(String function) {
    return symbols.find(function).isPresent();
  }

  /**
   * Calls a function that answers with a code.
   *
   * @param arguments pointers as {@link MemorySegment}, numbers as {@link Integer} or {@link Long}
   * @return NVML's code: 0 for success; -1 where there is no such function
   */
  int call(String function, Object... arguments) {
    Optional<MethodHandle> handle =
        functions.computeIfAbsent(function, name -> handle(name, arguments));
    if (handle.isEmpty()) {
      return -1;
    }
    try {
      synchronized (LIBRARY_LOCK) {
        return (int) handle.get().invokeWithArguments(arguments);
      }
    } catch (Throwable e) {
      throw new IllegalStateException(function + " cannot be called", e);
    }
  }

  private Optional<MethodHandle> handle(String function, Object[] arguments) {
    MemoryLayout[] layouts = new MemoryLayout[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      layouts[i] =
          switch (arguments[i]) {
            case MemorySegment _ -> ADDRESS;
            case Long _ -> JAVA_LONG;
            default -> JAVA_INT;
          };
    }
    FunctionDescriptor descriptor = FunctionDescriptor.of(JAVA_INT, layouts);
    return symbols
        .find(function)
        .map(symbol -> Linker.nativeLinker().downcallHandle(symbol, descriptor));
  }
}
