package io.pipelane.runtime;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The place of ONNX Runtime's native library: in a configured folder, or in the artifact's jar. */
public final class OrtLibrary {
  private static final String CUDA_PROVIDER = "libonnxruntime_providers_cuda.so";

  /** What ONNX Runtime loads from beside itself for CUDA; the official GPU artifact has it. */
  private static final List<String> CUDA_PARTS =
      List.of("libonnxruntime_providers_shared.so", CUDA_PROVIDER);

  private OrtLibrary() {}

  /**
   * The path of the library.
   *
   * @param folder a folder that holds the libraries; empty takes the one in the class path
   * @param cache where a library from a jar in the class path is unpacked, once per version; one
   *     from a folder in the class path is used where it lies, beside the libraries it needs
   * @throws StatusException {@link Status#UNAVAILABLE} when there is none for this platform
   */
  public static Path locate(Optional<Path> folder, Path cache) {
    String name = System.mapLibraryName("onnxruntime");
    if (folder.isPresent()) {
      return inFolder(folder.get(), name);
    }
    String resource = "ai/onnxruntime/native/" + platform() + "/" + name;
    URL url = OrtLibrary.class.getClassLoader().getResource(resource);
    if (url == null) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "there is no ONNX Runtime for "
              + platform()
              + " in the class path; set runtime.library to a folder with "
              + name);
    }
    if (url.getProtocol().equals("file")) {
      return Path.of(URI.create(url.toString()));
    }
    try {
      Path library = unpack(url, cache.resolve("natives"), name);
      for (String part : CUDA_PARTS) {
        URL beside = OrtLibrary.class.getClassLoader().getResource(folderOf(resource) + part);
        if (beside != null) {
          unpackTo(library.resolveSibling(part), beside);
        }
      }
      return library;
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "repository.cache: ONNX Runtime cannot be unpacked to %s (%s); name a folder that can be written"
              .formatted(cache, e),
          e);
    }
  }

  /**
   * Checks that the library comes with its CUDA provider, and that the system has what that is
   * linked with. ONNX Runtime would refuse each session, and name the first missing library only.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when it does not, naming what is missing
   */
  public static void requireCudaProvider(Path library) {
    Path provider = library.resolveSibling(CUDA_PROVIDER);
    if (!Files.isRegularFile(provider)) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "ONNX Runtime has no CUDA provider: there is no %s in %s; set runtime.library to a build for CUDA"
              .formatted(CUDA_PROVIDER, library.getParent()));
    }
    List<String> missing;
    try {
      missing = NeededLibraries.missing(provider);
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "ONNX Runtime's CUDA provider cannot be read: " + e.getMessage(), e);
    }
    if (!missing.isEmpty()) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "%s needs %s, not found on this machine; install CUDA and cuDNN of these versions, add their folders to LD_LIBRARY_PATH if they are elsewhere, or set runtime.library to a build for the CUDA there is"
              .formatted(provider, String.join(", ", missing)));
    }
  }

  private static String folderOf(String resource) {
    return resource.substring(0, resource.lastIndexOf('/') + 1);
  }

  private static Path inFolder(Path folder, String name) {
    Path library = folder.resolve(name);
    if (!Files.isRegularFile(library)) {
      throw new StatusException(
          Status.UNAVAILABLE, "runtime.library: there is no " + name + " in " + folder);
    }
    return library;
  }

  private static Path unpack(URL url, Path folder, String name) throws IOException {
    long size = url.openConnection().getContentLengthLong();
    Path target =
        folder.resolve(Integer.toHexString(url.getPath().hashCode()) + "-" + size).resolve(name);
    unpackTo(target, url);
    return target;
  }

  private static void unpackTo(Path target, URL url) throws IOException {
    long size = url.openConnection().getContentLengthLong();
    if (Files.isRegularFile(target) && Files.size(target) == size) {
      return;
    }
    Files.createDirectories(target.getParent());
    Path part = Files.createTempFile(target.getParent(), "library", ".part");
    try (InputStream in = url.openStream()) {
      Files.copy(in, part, StandardCopyOption.REPLACE_EXISTING);
      Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  private static String platform() {
    String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String arch = System.getProperty("os.arch");
    String system = os.contains("mac") ? "osx" : os.contains("win") ? "win" : "linux";
    return system + "-" + (arch.equals("aarch64") ? "aarch64" : "x64");
  }
}
