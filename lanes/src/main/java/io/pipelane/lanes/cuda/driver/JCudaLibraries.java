package io.pipelane.lanes.cuda.driver;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Supplier;

/**
 * Loads JCuda's native libraries. It unpacks them to files of fixed names in the system's folder
 * for temporary files, where another process that begins at the same time would map one that is
 * half written, and die of it: so one process of a user loads them at a time.
 */
public final class JCudaLibraries {
  private static final System.Logger LOG = System.getLogger(JCudaLibraries.class.getName());

  private JCudaLibraries() {}

  /**
   * Makes the first call of a class of JCuda's, which loads its library.
   *
   * @return what the call returns
   */
  public static synchronized <T> T load(Supplier<T> firstCall) {
    try (FileChannel file =
            FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock _ = file.lock()) {
      return firstCall.get();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, "JCuda is loaded without a lock", e);
      return firstCall.get();
    }
  }

  private static Path lockFile() {
    return Path.of(
        System.getProperty("java.io.tmpdir"),
        "pipelane-jcuda-" + System.getProperty("user.name") + ".lock");
  }
}
