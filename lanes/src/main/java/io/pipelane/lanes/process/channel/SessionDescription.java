package io.pipelane.lanes.process.channel;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.importing.PlanFile;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** The byte form of everything that a session is built of: the model's files and its plan. */
public final class SessionDescription {
  private SessionDescription() {}

  public static byte[] write(ImportedModel model) {
    try (ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeUTF(model.version().model());
      out.writeLong(model.version().version());
      out.writeUTF(model.gatedModel().toAbsolutePath().toString());
      out.writeUTF(model.weights().toAbsolutePath().toString());
      byte[] plan = PlanFile.toBytes(model.plan());
      out.writeInt(plan.length);
      out.write(plan);
      return bytes.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static ImportedModel read(byte[] description) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(description))) {
      ModelVersion version = new ModelVersion(in.readUTF(), in.readLong());
      Path gatedModel = Path.of(in.readUTF());
      Path weights = Path.of(in.readUTF());
      Plan plan = PlanFile.parse(in.readNBytes(in.readInt()));
      return new ImportedModel(version, plan, gatedModel, weights);
    } catch (IOException e) {
      throw new ProtocolException("a session's description cannot be read: " + e.getMessage());
    }
  }
}
