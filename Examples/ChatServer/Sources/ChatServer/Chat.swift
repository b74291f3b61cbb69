// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix

/// Rooms of eight people: a line that one of them writes goes to all the others.
final class Rooms: @unchecked Sendable {
    // Sendable: used only on one event loop.
    private var rooms: [[ObjectIdentifier: any Channel]] = [[:]]

    func enter(_ channel: any Channel) -> Int {
        if rooms[rooms.count - 1].count == 8 { rooms.append([:]) }
        rooms[rooms.count - 1][ObjectIdentifier(channel)] = channel
        return rooms.count - 1
    }

    func leave(_ room: Int, _ channel: any Channel) { rooms[room][ObjectIdentifier(channel)] = nil }

    func say(_ line: ByteBuffer, in room: Int, by speaker: any Channel) {
        for listener in rooms[room].values where listener !== speaker { listener.writeAndFlush(line, promise: nil) }
    }
}

/// A person's connection.
final class Chat: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let rooms: Rooms
    private let closings: Closings
    private var room = 0

    init(_ rooms: Rooms, _ closings: Closings) { (self.rooms, self.closings) = (rooms, closings) }

    func channelActive(context: ChannelHandlerContext) {
        room = rooms.enter(context.channel)
        closings.open += 1
        closings.entered += 1
        closings.peak = max(closings.peak, closings.open)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        rooms.say(unwrapInboundIn(data), in: room, by: context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        rooms.leave(room, context.channel)
        closings.open -= 1
        if closings.open == 0 { closings.whenEmpty() }
    }
}
