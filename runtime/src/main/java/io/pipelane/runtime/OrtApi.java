package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;

/**
 * ONNX Runtime's table of C functions, called by position.
 *
 * <p>Every parameter and result of the functions used here is a pointer, a size or an enumeration,
 * as a {@link NativeFunction}'s are.
 */
final class OrtApi {
  private static final System.Logger LOG = System.getLogger(OrtApi.class.getName());

  static final int API_VERSION = 28;

  private static final int FAIL = 1;

  // Positions in OrtApi; the table is append-only, so they hold for every later version.
  static final int CREATE_STATUS = 0;
  static final int GET_ERROR_CODE = 1;
  static final int GET_ERROR_MESSAGE = 2;
  static final int CREATE_ENV = 3;
  static final int CREATE_SESSION = 7;
  static final int CREATE_SESSION_OPTIONS = 10;
  static final int SET_OPTIMIZED_MODEL_FILE_PATH = 11;
  static final int SET_SESSION_GRAPH_OPTIMIZATION_LEVEL = 23;
  static final int SET_INTRA_OP_NUM_THREADS = 24;
  static final int CREATE_CUSTOM_OP_DOMAIN = 26;
  static final int CUSTOM_OP_DOMAIN_ADD = 27;
  static final int ADD_CUSTOM_OP_DOMAIN = 28;
  static final int SESSION_GET_INPUT_COUNT = 30;
  static final int SESSION_GET_OUTPUT_COUNT = 31;
  static final int SESSION_GET_INPUT_TYPE_INFO = 33;
  static final int SESSION_GET_OUTPUT_TYPE_INFO = 34;
  static final int SESSION_GET_INPUT_NAME = 36;
  static final int SESSION_GET_OUTPUT_NAME = 37;
  static final int CREATE_RUN_OPTIONS = 39;
  static final int RUN_OPTIONS_SET_TERMINATE = 46;
  static final int CREATE_TENSOR_AS_VALUE = 48;
  static final int CREATE_TENSOR_WITH_DATA_AS_VALUE = 49;
  static final int GET_TENSOR_MUTABLE_DATA = 51;
  static final int GET_STRING_TENSOR_DATA_LENGTH = 53;
  static final int GET_STRING_TENSOR_CONTENT = 54;
  static final int CAST_TYPE_INFO_TO_TENSOR_INFO = 55;
  static final int CREATE_TENSOR_TYPE_AND_SHAPE_INFO = 57;
  static final int SET_TENSOR_ELEMENT_TYPE = 58;
  static final int SET_DIMENSIONS = 59;
  static final int GET_TENSOR_ELEMENT_TYPE = 60;
  static final int GET_DIMENSIONS_COUNT = 61;
  static final int GET_DIMENSIONS = 62;
  static final int GET_SYMBOLIC_DIMENSIONS = 63;
  static final int CREATE_MEMORY_INFO = 68;
  static final int ALLOCATOR_FREE = 76;
  static final int GET_ALLOCATOR_WITH_DEFAULT_OPTIONS = 78;
  static final int KERNEL_INFO_GET_ATTRIBUTE_INT64 = 86;
  static final int KERNEL_CONTEXT_GET_INPUT_COUNT = 88;
  static final int KERNEL_CONTEXT_GET_INPUT = 90;
  static final int KERNEL_CONTEXT_GET_OUTPUT = 91;
  static final int RELEASE_ENV = 92;
  static final int RELEASE_STATUS = 93;
  static final int RELEASE_MEMORY_INFO = 94;
  static final int RELEASE_SESSION = 95;
  static final int RELEASE_VALUE = 96;
  static final int RELEASE_RUN_OPTIONS = 97;
  static final int RELEASE_TYPE_INFO = 98;
  static final int RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99;
  static final int RELEASE_SESSION_OPTIONS = 100;
  static final int RELEASE_CUSTOM_OP_DOMAIN = 101;
  static final int ADD_SESSION_CONFIG_ENTRY = 130;
  static final int RUN_WITH_BINDING = 133;
  static final int CREATE_IO_BINDING = 134;
  static final int RELEASE_IO_BINDING = 135;
  static final int BIND_INPUT = 136;
  static final int BIND_OUTPUT = 137;
  static final int BIND_OUTPUT_TO_DEVICE = 138;
  static final int GET_BOUND_OUTPUT_VALUES = 140;
  static final int CLEAR_BOUND_OUTPUTS = 142;
  static final int SYNCHRONIZE_BOUND_INPUTS = 202;
  static final int ADD_INITIALIZER = 150;
  static final int ADD_RUN_CONFIG_ENTRY = 165;
  static final int REGISTER_ALLOCATOR = 176;
  static final int UNREGISTER_ALLOCATOR = 177;
  static final int GET_TENSOR_MEMORY_INFO = 194;
  static final int APPEND_CUDA_PROVIDER = 204;
  static final int CREATE_CUDA_PROVIDER_OPTIONS = 205;
  static final int UPDATE_CUDA_PROVIDER_OPTIONS = 206;
  static final int RELEASE_CUDA_PROVIDER_OPTIONS = 208;
  static final int MEMORY_INFO_GET_DEVICE_TYPE = 225;
  static final int GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER = 252;
  static final int UPDATE_CUDA_PROVIDER_OPTION_WITH_VALUE = 263;
  static final int SHAPE_INFER_CONTEXT_GET_INPUT_COUNT = 267;
  static final int SHAPE_INFER_CONTEXT_GET_INPUT_TYPE_SHAPE = 268;
  static final int SHAPE_INFER_CONTEXT_SET_OUTPUT_TYPE_SHAPE = 270;
  static final int SET_SYMBOLIC_DIMENSIONS = 271;
  static final int GET_TENSOR_SIZE_IN_BYTES = 318;
  static final int MEMORY_INFO_GET_DEVICE_MEMORY_TYPE = 321;
  static final int SESSION_GET_MEMORY_INFO_FOR_INPUTS = 380;
  static final int SESSION_GET_MEMORY_INFO_FOR_OUTPUTS = 381;
  static final int GET_TENSOR_ELEMENT_TYPE_AND_SHAPE_DATA_REFERENCE = 414;
  private static final int FUNCTIONS = 415;

  /** Longs that {@link #results} has room for. */
  static final int RESULTS = 16;

  /**
   * Where a thread's calls write their result: read before the next call, as every function writes
   * it last. Zeroed by nobody: a 32-bit result leaves the upper half undefined.
   */
  private static final ThreadLocal<MemorySegment> RESULT =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(JAVA_LONG, RESULTS));

  private final NativeFunction[] functions = new NativeFunction[FUNCTIONS];
  private final String version;

  private OrtApi(MemorySegment table, String version) {
    for (int i = 0; i < FUNCTIONS; i++) {
      functions[i] = new NativeFunction(table.getAtIndex(ADDRESS, i));
    }
    this.version = version;
  }

  /**
   * Loads the library for the rest of the process's life.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when it cannot be loaded or is too old
   */
  static OrtApi load(Path library) {
    SymbolLookup symbols;
    try {
      symbols = SymbolLookup.libraryLookup(library, Arena.global());
    } catch (IllegalArgumentException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "ONNX Runtime cannot be loaded from " + library + ": " + e.getMessage(),
          e);
    }
    MemorySegment entry =
        symbols
            .find("OrtGetApiBase")
            .orElseThrow(
                () ->
                    new StatusException(
                        Status.UNAVAILABLE,
                        library + " is not ONNX Runtime: it has no OrtGetApiBase"));
    MemorySegment base = memory(new NativeFunction(entry).call(0, 0, 0), 16);
    NativeFunction getApi = new NativeFunction(base.getAtIndex(ADDRESS, 0));
    NativeFunction getVersion = new NativeFunction(base.getAtIndex(ADDRESS, 1));
    String version = string(getVersion.call(0, 0, 0));
    long table = getApi.call(API_VERSION, 0, 0);
    if (table == 0) {
      throw new StatusException(
          Status.UNAVAILABLE,
          library
              + " is ONNX Runtime "
              + version
              + "; version 1."
              + API_VERSION
              + " or newer is needed");
    }
    return new OrtApi(memory(table, 8L * FUNCTIONS), version);
  }

  /** The library's version, e.g. {@code 1.28.0}. */
  String version() {
    return version;
  }

  long invoke(int function) {
    return functions[function].call(0, 0, 0);
  }

  long invoke(int function, long a) {
    return functions[function].call(a, 0, 0);
  }

  void call(int function, long a) {
    check(invoke(function, a));
  }

  long invoke(int function, long a, long b) {
    return functions[function].call(a, b, 0);
  }

  void call(int function, long a, long b) {
    check(invoke(function, a, b));
  }

  void call(int function, long a, long b, long c) {
    check(functions[function].call(a, b, c));
  }

  void call(int function, long a, long b, long c, long d) {
    call(function, a, b, c, d, 0);
  }

  void call(int function, long a, long b, long c, long d, long e) {
    call(function, a, b, c, d, e, 0, 0);
  }

  void call(int function, long a, long b, long c, long d, long e, long f, long g) {
    check(functions[function].call(a, b, c, d, e, f, g));
  }

  /** Room for results of a call on this thread, and what it reads, valid until its next call. */
  MemorySegment results() {
    return RESULT.get();
  }

  /** The pointer that a function of the form {@code f(out)} writes. */
  long create(int function) {
    MemorySegment out = RESULT.get();
    call(function, out.address());
    return out.get(JAVA_LONG, 0);
  }

  /** The pointer or number that a function of the form {@code f(a, out)} writes. */
  long get(int function, long a) {
    MemorySegment out = RESULT.get();
    call(function, a, out.address());
    return out.get(JAVA_LONG, 0);
  }

  /** The pointer or number that a function of the form {@code f(a, b, out)} writes. */
  long get(int function, long a, long b) {
    MemorySegment out = RESULT.get();
    call(function, a, b, out.address());
    return out.get(JAVA_LONG, 0);
  }

  /** A C string at an address that ONNX Runtime owns. */
  static String string(long address) {
    return memory(address, Long.MAX_VALUE).getString(0);
  }

  private static MemorySegment memory(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /** Makes a status that an upcall returns; ONNX Runtime releases it. */
  long failure(String message) {
    try (Arena arena = Arena.ofConfined()) {
      return invoke(CREATE_STATUS, FAIL, arena.allocateFrom(message).address());
    }
  }

  private void check(long status) {
    if (status != 0) {
      OrtErrorCode code = OrtErrorCode.of((int) invoke(GET_ERROR_CODE, status));
      String message = string(invoke(GET_ERROR_MESSAGE, status));
      invoke(RELEASE_STATUS, status);
      LOG.log(System.Logger.Level.DEBUG, message);
      ErrorText error = ErrorText.of(code, message);
      throw new StatusException(error.status(), "ONNX Runtime: " + error.text());
    }
  }
}
