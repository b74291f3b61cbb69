import Foundation

/// HdrHistogram's V2 encoding, which all its ports read: counts as ZigZag LEB128 numbers, with runs of zeros as negative
/// numbers, behind a header of 40 bytes, compressed, in base64. The compression is zlib's format with stored blocks (RFC
/// 1950, RFC 1951), which any reader accepts and which needs no library.
///
/// HdrHistogram has no values below zero: early fires count as 0.
enum HdrCodec {
    /// One hour: later than any fire here.
    static let highestTrackable_ns: Int64 = 3_600_000_000_000

    static func base64(_ distribution: Distribution) -> String {
        let packed = zlib(payload(distribution))
        return Data(bigEndian(UInt32(0x1c84_9314)) + bigEndian(UInt32(packed.count)) + packed).base64EncodedString()
    }

    /// Returns the counts by their index in HdrHistogram's array.
    static func counts(_ distribution: Distribution) -> [Int64] {
        var counts: [Int64] = []
        for bucket in distribution.buckets {
            let index = HDRLayout.index(of: min(max(0, bucket.low_ns), highestTrackable_ns))
            if counts.count <= index { counts += [Int64](repeating: 0, count: index + 1 - counts.count) }
            counts[index] += bucket.count
        }
        return counts
    }

    private static func payload(_ distribution: Distribution) -> [UInt8] {
        var numbers: [UInt8] = []
        var zeros: Int64 = 0
        for count in counts(distribution) {
            if count == 0 {
                zeros += 1
                continue
            }
            if zeros > 0 { numbers += zigZag(-zeros) }
            zeros = 0
            numbers += zigZag(count)
        }
        let head: [[UInt8]] = [
            bigEndian(UInt32(0x1c84_9313)), bigEndian(UInt32(numbers.count)),
            bigEndian(UInt32(0)),  // normalizing index offset
            bigEndian(UInt32(3)),  // significant digits
            bigEndian(UInt64(1)),  // least value that differs from 0
            bigEndian(UInt64(highestTrackable_ns)),
            bigEndian(Double(1).bitPattern),  // ratio of integers to doubles
        ]
        return head.flatMap(\.self) + numbers
    }

    /// Encodes small numbers of either sign in few bytes, seven bits in each; the ninth byte has eight bits.
    static func zigZag(_ value: Int64) -> [UInt8] {
        var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        var bytes: [UInt8] = []
        while bytes.count < 8 {
            if rest < 0x80 {
                bytes.append(UInt8(rest))
                return bytes
            }
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
        return bytes
    }

    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        var packed: [UInt8] = [0x78, 0x01]
        var start = 0
        repeat {
            let end = min(start + 65_535, bytes.count)
            let length = UInt16(end - start)
            packed.append(end == bytes.count ? 1 : 0)
            // The length and its complement, the low byte first.
            for part in [length, ~length] { packed += [UInt8(part & 0xff), UInt8(part >> 8)] }
            packed += bytes[start..<end]
            start = end
        } while start < bytes.count
        return packed + bigEndian(adler32(bytes))
    }

    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
