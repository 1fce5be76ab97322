package io.pipelane.lanes.cuda.driver;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.NoSuchElementException;
import jcuda.driver.CUdevice;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** CUDA's driver in this process, initialised, with at least one device. Safe for any thread. */
public final class CudaDriver {
  private static final String LIBRARY = "libcuda.so.1";
  private static final String PLATFORM = "Linux amd64";
  private static final int MINIMUM_VERSION = 12_000;
  private static final int BUS_ID_BYTES = 32;

  private final DriverFunctions functions;
  private final PinnedRanges pinned = new PinnedRanges();
  private final int version;
  private final int deviceCount;

  private CudaDriver(DriverFunctions functions, int version, int deviceCount) {
    this.functions = functions;
    this.version = version;
    this.deviceCount = deviceCount;
  }

  /**
   * Loads and initialises the driver; doing it again costs little.
   *
   * @throws StatusException {@link Status#UNAVAILABLE}, saying why CUDA cannot be used here:
   *     another platform, no driver, too old a driver, no device
   */
  public static CudaDriver load() {
    return load(System.getProperty("os.name") + " " + System.getProperty("os.arch"), LIBRARY);
  }

  static CudaDriver load(String platform, String library) {
    if (!platform.equals(PLATFORM)) {
      throw unavailable("CUDA is used on " + PLATFORM + " only, and this is " + platform, null);
    }
    SymbolLookup symbols = symbols(library);
    initialise();
    int[] number = new int[1];
    check(JCudaDriver.cuDriverGetVersion(number), "cuDriverGetVersion");
    int version = number[0];
    if (version < MINIMUM_VERSION) {
      throw unavailable(
          "the NVIDIA driver offers CUDA %s, and %s is the least that will do; update the driver"
              .formatted(text(version), text(MINIMUM_VERSION)),
          null);
    }
    check(JCudaDriver.cuDeviceGetCount(number), "cuDeviceGetCount");
    if (number[0] == 0) {
      throw unavailable("the NVIDIA driver sees no device", null);
    }
    try {
      return new CudaDriver(new DriverFunctions(symbols), version, number[0]);
    } catch (NoSuchElementException e) {
      throw unavailable("the NVIDIA driver lacks a function: " + e.getMessage(), e);
    }
  }

  /** Number of devices that this process may use. */
  public int deviceCount() {
    return deviceCount;
  }

  /**
   * Where a device is on the PCI bus, such as {@code 0000:3b:00.0}: others count devices otherwise.
   *
   * @param ordinal as the driver counts
   * @throws StatusException {@link Status#UNAVAILABLE} when the driver does not tell
   */
  public String busId(int ordinal) {
    CUdevice device = new CUdevice();
    check(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet", ordinal);
    String[] id = new String[1];
    check(
        JCudaDriver.cuDeviceGetPCIBusId(id, BUS_ID_BYTES, device), "cuDeviceGetPCIBusId", ordinal);
    return id[0];
  }

  /** The driver's CUDA version as people write it, e.g. {@code 12.6}. */
  public String versionText() {
    return text(version);
  }

  DriverFunctions functions() {
    return functions;
  }

  /** What is pinned for all devices. */
  PinnedRanges pinned() {
    return pinned;
  }

  private static SymbolLookup symbols(String library) {
    try {
      return SymbolLookup.libraryLookup(library, Arena.global());
    } catch (IllegalArgumentException e) {
      throw unavailable(library + " is not there: no NVIDIA driver", e);
    }
  }

  private static void initialise() {
    int result;
    try {
      JCudaLibraries.load(JCudaDriver.class);
      result = JCudaDriver.cuInit(0);
    } catch (LinkageError e) {
      String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
      throw unavailable("JCuda cannot be loaded: " + reason, e);
    }
    if (result == CUresult.CUDA_ERROR_NO_DEVICE) {
      throw unavailable("the NVIDIA driver sees no device", null);
    }
    check(result, "cuInit", 0);
  }

  private static void check(int result, String function, long... arguments) {
    if (result != 0) {
      CudaException failure = CudaException.of(result, function, arguments);
      throw unavailable("CUDA does not start: " + failure.getMessage(), failure);
    }
  }

  private static String text(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }

  private static StatusException unavailable(String message, @Nullable Throwable cause) {
    return cause == null
        ? new StatusException(Status.UNAVAILABLE, message)
        : new StatusException(Status.UNAVAILABLE, message, cause);
  }
}
