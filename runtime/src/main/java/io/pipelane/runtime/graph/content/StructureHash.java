package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.ModelProto;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The identity of a structure: SHA-256 over the gated graph, which holds all that is not streamed.
 */
public final class StructureHash {
  private StructureHash() {}

  /** Hashes a gated graph; equal graphs have equal hashes, in every process. */
  public static String of(ModelProto gated) {
    try (DigestOutputStream digest =
        new DigestOutputStream(
            OutputStream.nullOutputStream(), MessageDigest.getInstance("SHA-256"))) {
      ModelFile.serialise(gated, digest);
      return HexFormat.of().formatHex(digest.getMessageDigest().digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
