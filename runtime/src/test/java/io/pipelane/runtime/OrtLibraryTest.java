package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class OrtLibraryTest {
  private static final String NAME = System.mapLibraryName("onnxruntime");

  private static final String PROVIDER = "libonnxruntime_providers_cuda.so";

  @TempDir Path folder;

  @Test
  void locate_classPath_unpacksOnce() throws IOException {
    Path first = OrtLibrary.locate(Optional.empty(), folder);
    assertEquals(NAME, first.getFileName().toString());
    assumeTrue(first.startsWith(folder), "the class path has it in a folder, not in a jar");
    Object before = Files.getLastModifiedTime(first);
    assertEquals(first, OrtLibrary.locate(Optional.empty(), folder));
    assertEquals(before, Files.getLastModifiedTime(first));
    Files.write(first, new byte[3]);
    assertTrue(
        Files.size(OrtLibrary.locate(Optional.empty(), folder)) > 3, "a torn copy is mended");
  }

  @Test
  void locate_folderWithoutLibrary_namesSettingAndFolder() {
    for (Path missing : new Path[] {folder, folder.resolve("nowhere")}) {
      StatusException error =
          assertThrows(
              StatusException.class, () -> OrtLibrary.locate(Optional.of(missing), folder));
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("runtime.library"), error.toString());
      assertTrue(error.toString().contains(missing.toString()), error.toString());
    }
  }

  @Test
  void open_fileThatIsNoLibrary_isRefused() throws IOException {
    refused(Files.writeString(folder.resolve(NAME), "not a library"));
  }

  @Test
  void open_otherLibrary_isRefused() throws IOException {
    String java = System.mapLibraryName("java");
    Path other = Path.of(System.getProperty("java.home"), "lib", java);
    refused(Files.copy(other, folder.resolve(NAME)));
  }

  @Test
  void requireCudaProvider_ofTheProcessorsBuild_namesTheFileAndTheSetting() {
    assertTrue(
        refusedProvider(folder.resolve(NAME)).contains("set runtime.library"),
        () -> refusedProvider(folder.resolve(NAME)));
  }

  @Test
  void requireCudaProvider_thatIsNoLibrary_isRefused() throws IOException {
    Files.write(folder.resolve(PROVIDER), new byte[100]);
    String refusal = refusedProvider(folder.resolve(NAME));
    assertTrue(refusal.contains(PROVIDER + " is no library for 64-bit Linux"), refusal);
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void requireCudaProvider_thatLacksLibraries_namesThem() throws IOException {
    Path java = Path.of(System.getProperty("java.home"), "lib", "libnet.so");
    byte[] content = Files.readAllBytes(java);
    Files.write(folder.resolve(PROVIDER), content);
    OrtLibrary.requireCudaProvider(folder.resolve(NAME));
    String text =
        new String(content, StandardCharsets.ISO_8859_1).replace("libjava.so", "libcuda!so");
    Files.write(folder.resolve(PROVIDER), text.getBytes(StandardCharsets.ISO_8859_1));
    String refusal = refusedProvider(folder.resolve(NAME));
    assertTrue(refusal.contains(PROVIDER + " needs libcuda!so, not found"), refusal);
    assertTrue(refusal.contains("LD_LIBRARY_PATH"), refusal);
  }

  private static String refusedProvider(Path library) {
    StatusException error =
        assertThrows(StatusException.class, () -> OrtLibrary.requireCudaProvider(library));
    assertEquals(Status.UNAVAILABLE, error.status());
    return String.valueOf(error.getMessage());
  }

  private static void refused(Path library) {
    StatusException error =
        assertThrows(
            StatusException.class, () -> OrtEnvironment.open(library, new HeapDevice()).close());
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains(library.toString()), error.toString());
  }
}
